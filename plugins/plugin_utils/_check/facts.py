# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of the service that GETs can show, each with what is expected and how to see it. Pure.

The grades: [D] documented by Microsoft, [O] observed, [I] inferred and not verified on a real VM. Beside
events.py, the files of these facts alone know Azure's field names: what they look at is how they are written.
"""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.answers_heard import (
    FIRST_GENERAL,
    NEWEST,
    PREVIEW,
    Answers,
    Heard,
    events,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts_of_events import EVENT_FACTS
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts_of_instances import INSTANCE_FACTS
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts_table import Fact, Seen, no, yes
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding

TELL = (
    "The simulator of this collection, and what is built upon it, may be wrong about it: tell its maintainers, with the"
    " file of check_report"
)


def _status(point: str, grade: str, question: str, wanted: int, says: str = "") -> Fact:
    """A fact that an answer has this status, and a text in it."""

    def see(answers: Answers) -> Seen:
        heard = answers[question]
        if heard.status != wanted:
            return no(heard.words)
        if says and says not in heard.body:
            return no(f"{heard.words}, {heard.body[:100]!r}")
        return yes(f"HTTP {wanted}" + (f", {says!r}" if says else ""))

    return Fact(point, grade, f"HTTP {wanted}" + (f", {says!r}" if says else ""), see)


def _answers(version: str) -> Fact:
    def see(answers: Answers) -> Seen:
        heard = answers[events(version)]
        document = answers.document(events(version))
        if document is None or not isinstance(document.get("Events"), list):
            return no(heard.words)
        return yes("HTTP 200, a document")

    return Fact(f"api-version {version} of events is answered", "D", "HTTP 200, a document", see)


def _names_newest(answers: Answers) -> Seen:
    found = (answers["no version"].data or {}).get("newest-versions") if _is_object(answers["no version"]) else None
    return yes("a list") if isinstance(found, list) and found else no(f"{found!r:.60}")


def _is_object(heard: Heard) -> bool:
    return isinstance(heard.data, dict)


def _incarnation_is_integer(answers: Answers) -> Seen:
    document = answers.document(events(NEWEST))
    if document is None:
        return no(answers[events(NEWEST)].words)
    number = document.get("DocumentIncarnation")
    return (yes if isinstance(number, int) and not isinstance(number, bool) else no)(f"{number!r:.60}")


def _same_number_same_content(answers: Answers) -> Seen:
    first, second = answers.document(events(NEWEST)), answers.document("again")
    if first is None or second is None:
        return no(answers["again"].words)
    one, two = first.get("DocumentIncarnation"), second.get("DocumentIncarnation")
    if one != two:
        return yes(f"{one!r}, then {two!r}: it has changed in between")
    return (yes if first.get("Events") == second.get("Events") else no)(
        f"{one!r} twice, with {'the same' if first.get('Events') == second.get('Events') else 'other'} events"
    )


SERVICE_FACTS: tuple[Fact, ...] = (
    *(_answers(version) for version in reversed(API_VERSIONS)),
    Fact("DocumentIncarnation is a JSON integer", "O", "an integer", _incarnation_is_integer),
    Fact("the same DocumentIncarnation is the same content", "D", "the same events", _same_number_same_content),
    _status(f"{FIRST_GENERAL} and newer ask for the header Metadata: true", "D", "no header", 400),
    _status("a request without the header is told so", "D", "no header", 400, "Required metadata header not specified"),
    _status(f"{PREVIEW} does not ask for the header", "D", "no header, preview", 200),
    _status("a request with X-Forwarded-For is refused", "D", "forwarded", 400),
    _status("a query parameter that is there twice is refused", "D", "twice", 400),
    _status("a request without api-version is refused", "D", "no version", 400),
    Fact("that refusal names the newest versions", "D", "a list newest-versions", _names_newest),
    _status("an api-version that there is not is refused", "D", "unknown version", 400),
    _status("latest is no api-version any more", "D", "latest", 400),
    _status("what does not exist is not found", "D", "elsewhere", 404),
)
ALL_FACTS = (*SERVICE_FACTS, *EVENT_FACTS, *INSTANCE_FACTS)

# What GETs, two of them a second and within a minute, can't show.
NEVER_LOOKED_AT: tuple[tuple[str, str], ...] = (
    (
        "an approval (POST): its answers, that it counts for all VMs of the event and can't be undone",
        "no POST is sent",
    ),
    ("an approval by another VM, in the portal or through ARM counts as well", "no POST is sent"),
    ("a Terminate that is approved waits for those that are not", "no POST is sent"),
    ("a POST alone keeps the service on; its Content-Type does not matter", "no POST is sent"),
    ("other methods are answered with 405", "only GET is used"),
    ("5 requests a second for a VM, then 429", "at most 2 a second are sent"),
    (
        "the first call takes up to two minutes, is empty for others meanwhile, and switches on for the whole group",
        "it happens once",
    ),
    ("events begin to show within 5 minutes after that", "it happens once"),
    ("the service goes off after a day without requests, and DocumentIncarnation begins anew", "that takes a day"),
    ("User events wait while the service is on", "it takes somebody who restarts a VM"),
    (
        "Scheduled, then Started, then over, and never back; its EventId stays",
        "it takes the whole life of an event",
    ),
    (
        "an event starts when it is approved or after NotBefore, and stays Started for some 10 minutes",
        "it takes the whole life of an event",
    ),
    ("a failure of the hardware goes straight to Started", "it can't be brought about"),
    ("how long before NotBefore an event of each type is shown first", "it takes the moment of its creation"),
    ("while an event is Started the VM reboots, freezes or goes", "it takes the whole life of an event"),
    ("410 for up to 70 s, 5xx and 408 while the service is updated", "it can't be brought about"),
    ("a conditional GET (If-None-Match) and 304", "it may be held for a minute"),
    ("data in part where a backend fails, and extended=true", "it can't be brought about"),
    ("only the primary network interface is answered, and no proxy", "nothing of the network is changed"),
    ("which VMs share a document", "the point of delivery groups compares them"),
    ("the endpoint outside of virtual networks, in DHCP option 245", "use maintenance_endpoint: auto to try it"),
    ("ARM, Event Grid, Resource Graph, policies of VMs and scale sets", "they are no part of the metadata service"),
)


def _point(fact: Fact) -> str:
    return f"{fact.point} [{fact.grade}]"


def judged(answers: Answers) -> tuple[list[Finding], list[dict[str, str]]]:
    """The table for one VM, and the facts that could not be looked at, with the reason."""
    findings: list[Finding] = []
    not_seen: list[dict[str, str]] = []
    for fact in ALL_FACTS:
        point = _point(fact)
        seen = fact.see(answers)
        if seen.fits is None:
            not_seen.append({"fact": point, "why": seen.text})
            continue
        verdict = "good" if seen.fits else "bad" if fact.grade == "D" else "doubtful"
        do = "" if seen.fits else TELL
        findings.append(Finding("facts", point, verdict, seen.text, do, fact.expected))
    return findings, not_seen


def facts_without(reason: str) -> list[dict[str, str]]:
    """All facts that could have been looked at, and why none was."""
    return [{"fact": _point(fact), "why": reason} for fact in ALL_FACTS]


def never_looked_at() -> list[dict[str, str]]:
    return [{"fact": fact, "why": why} for fact, why in NEVER_LOOKED_AT]
