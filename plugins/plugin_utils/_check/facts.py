# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts about the real service, against which assumptions are checked."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Callable

from ...module_utils._azure import imds
from .._azure import events as azure
from .._azure import vms
from . import service
from .report import Finding
from .service import Answers


@dataclasses.dataclass(frozen=True)
class Seen:
    """`fits` is None where it could not be looked at; then the text says why."""

    text: str
    fits: bool | None


@dataclasses.dataclass(frozen=True)
class Fact:
    point: str
    grade: str
    expected: str
    see: Callable[[Answers], Seen]


def yes(text: str) -> Seen:
    return Seen(text, True)


def no(text: str) -> Seen:
    return Seen(text, False)


def not_seen(why: str) -> Seen:
    return Seen(why, None)


_NO_EVENT = "there is no event in the document now"
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RFC_1123 = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_FIELD_SINCE = {"Description": "2019-04-01", "EventSource": "2019-08-01", "DurationInSeconds": "2020-07-01"}


def events_in(answers: Answers, question: str) -> dict[str, vms.EventData]:
    document = answers.document(question) or {}
    listed = document.get("Events")
    found = [event for event in listed if isinstance(event, dict)] if isinstance(listed, list) else []
    return {str(event.get("EventId")).casefold(): event for event in found}


def _lasting(answers: Answers) -> dict[str, vms.EventData]:
    """Those that were there all the time that was asked, in the same state."""
    first, last = events_in(answers, service.events(service.NEWEST)), events_in(answers, "again")
    return {
        name: event
        for name, event in first.items()
        if name in last and last[name].get("EventStatus") == event.get("EventStatus")
    }


def _field(
    name: str, expected: str, fits: Callable[[t.Any], bool], grade: str = "D", status: str = "", said: str = ""
) -> Fact:
    """A fact about a field of every event, or of those of a status."""

    def see(answers: Answers) -> Seen:
        found = [
            one
            for one in events_in(answers, service.events(service.NEWEST)).values()
            if status in ("", one.get("EventStatus"))
        ]
        if not found:
            return not_seen(f"there is no event that is {status} now" if status else _NO_EVENT)
        wrong = [one for one in found if not fits(one.get(name))]
        shown = (wrong or found)[0]
        value = f"{shown[name]!r:.80}" if name in shown else "nothing"
        return (no if wrong else yes)(value)

    point = said or f"{name} of an event"
    return Fact(f"{point}, {status}" if status else point, grade, expected, see)


def _is_names(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) and name for name in value)


def _is_duration(value: t.Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= -1


def _since(field: str, since: str) -> Fact:
    def see(answers: Answers) -> Seen:
        lasting = _lasting(answers)
        if not lasting:
            return not_seen(_NO_EVENT)
        has = {}
        for version in imds.API_VERSIONS:
            shown = [event for name, event in events_in(answers, service.events(version)).items() if name in lasting]
            if shown:
                has[version] = all(field in event for event in shown)
                if has[version] != any(field in event for event in shown):
                    return no(f"some events of {version} have it and some have not")
        wrong = [version for version, there in has.items() if there != (version >= since)]
        if wrong:
            return no(f"{'there' if has[wrong[0]] else 'missing'} in {wrong[0]}")
        return yes(f"there in {len([one for one in has.values() if one])} of {len(has)} versions")

    return Fact(f"{field} of an event is shown from {since} on", "D", "not before", see)


def _hidden(kind: str, since: str) -> Fact:
    def see(answers: Answers) -> Seen:
        lasting = [name for name, event in _lasting(answers).items() if event.get("EventType") == kind]
        if not lasting:
            return not_seen(f"there is no {kind} in the document now")
        for version in imds.API_VERSIONS:
            if answers.document(service.events(version)) is None:
                continue
            shown = lasting[0] in events_in(answers, service.events(version))
            if shown != (version >= since):
                return no(f"{'shown' if shown else 'not shown'} in {version}")
        return yes(f"shown from {since} on alone")

    return Fact(f"a {kind} is hidden before {since}", "O", f"shown from {since} on alone", see)


def _in_preview(field: str, expected: str, fits: Callable[[t.Any, t.Any], bool], status: str = "") -> Fact:
    """A fact that compares a field in the first version with the newest."""

    def see(answers: Answers) -> Seen:
        old = events_in(answers, service.events(service.PREVIEW))
        pairs = [
            (old[name].get(field), event.get(field))
            for name, event in _lasting(answers).items()
            if name in old and status in ("", event.get("EventStatus"))
        ]
        if not pairs:
            return not_seen(_NO_EVENT)
        wrong = [pair for pair in pairs if not fits(*pair)]
        return (no if wrong else yes)(f"{(wrong or pairs)[0][0]!r:.80}")

    return Fact(f"{field} of an event in {service.PREVIEW}", "D", expected, see)


def _with_underscore(old: t.Any, new: t.Any) -> bool:
    return _is_names(old) and _is_names(new) and old == [f"_{name}" for name in new]


def _names_this_vm(answers: Answers) -> Seen:
    heard = answers["leaf as text"]
    found = events_in(answers, service.events(service.NEWEST)).values()
    names = [str(name) for event in found for name in event.get("Resources") or ()]
    mine = [name for name in names if name.casefold() == heard.body.strip().casefold()]
    if heard.status != 200 or not mine:
        return not_seen("no event names this VM now")
    return yes(mine[0])


EVENT_FACTS: tuple[Fact, ...] = (
    _field("EventId", "a GUID", lambda value: isinstance(value, str) and bool(_GUID.fullmatch(value)), "O"),
    _field("EventType", f"one of {', '.join(azure.EVENT_TYPES)}", lambda value: value in azure.EVENT_TYPES),
    _field("EventStatus", "Scheduled or Started", lambda value: value in ("Scheduled", "Started")),
    _field("ResourceType", "VirtualMachine", lambda value: value == "VirtualMachine"),
    _field("Resources", "a list of names", _is_names),
    _field(
        "NotBefore",
        "a time as in RFC 1123, in GMT",
        lambda value: isinstance(value, str) and bool(_RFC_1123.fullmatch(value)),
        status="Scheduled",
    ),
    _field("NotBefore", "an empty text", lambda value: value == "", status="Started"),
    _field("Description", "a text", lambda value: isinstance(value, str)),
    _field("EventSource", "Platform or User", lambda value: value in ("Platform", "User")),
    _field("DurationInSeconds", "a JSON integer, -1 or more", _is_duration, "O"),
    *(_since(field, since) for field, since in _FIELD_SINCE.items()),
    *(_hidden(kind.name, kind.since) for kind in azure.EVENT_TYPES.values() if kind.since > service.FIRST_GENERAL),
    _in_preview("Resources", "names with an underscore in front", _with_underscore),
    _in_preview(
        "NotBefore",
        "a time in ISO form",
        lambda old, _new: isinstance(old, str) and bool(_ISO.fullmatch(old)),
        status="Scheduled",
    ),
    Fact("Resources hold the name that the instance metadata tells", "D", "compute.name", _names_this_vm),
)


# By their documentation.
_DOCUMENTED = """
2017-03-01 2017-04-02 2017-08-01 2017-10-01 2017-12-01 2018-02-01 2018-04-02 2018-10-01 2019-02-01 2019-03-11 2019-04-30
2019-06-01 2019-06-04 2019-08-01 2019-08-15 2019-11-01 2020-06-01 2020-07-15 2020-09-01 2020-10-01 2020-12-01 2021-01-01
2021-02-01 2021-03-01 2021-05-01 2021-08-01 2021-10-01 2021-11-01 2021-11-15 2021-12-13 2023-07-01 2023-11-15 2024-03-15
2024-07-17 2025-04-07
"""
DOCUMENTED_VERSIONS = _DOCUMENTED.split()
_TEXT_SINCE = {
    "name": "2017-04-02",
    "vmId": "2017-04-02",
    "location": "2017-04-02",
    "platformUpdateDomain": "2017-04-02",
    "platformFaultDomain": "2017-04-02",
    "resourceGroupName": "2017-08-01",
    "subscriptionId": "2017-08-01",
    "placementGroupId": "2017-08-01",
    "tags": "2017-08-01",
    "vmScaleSetName": "2017-12-01",
    "zone": "2017-12-01",
    "azEnvironment": "2018-10-01",
    "resourceId": "2019-03-11",
    "isHostCompatibilityLayerVm": "2020-06-01",
    "osProfile.computerName": "2020-07-15",
    "priority": "2020-12-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation.name": "2021-03-01",
    "virtualMachineScaleSet.id": "2021-03-01",
    "platformSubFaultDomain": "2021-10-01",
    "host.id": "2021-11-15",
    "hostGroup.id": "2021-11-15",
    "physicalZone": "2023-11-15",
}
_NOTHING = object()


def _inside(data: t.Any, path: str) -> t.Any:
    for name in path.split("."):
        if not isinstance(data, dict) or name not in data:
            return _NOTHING
        data = data[name]
    return data


def _is_text(value: t.Any) -> bool:
    return isinstance(value, str)


def _is_list_of_tags(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(tag, dict) and {"name", "value"} <= set(tag) for tag in value)


def _is_flag(value: t.Any) -> bool:
    return value in ("true", "false")


def _instance_since(field: str, since: str, fits: Callable[[t.Any], bool] = _is_text, expected: str = "a text") -> Fact:
    def see(answers: Answers) -> Seen:
        if answers.document(service.compute(since)) is None:
            return not_seen(f"this cloud does not answer {since} of the instance metadata")
        shown = yes("nothing")
        for version in service.COMPUTE_VERSIONS:
            document = answers.document(service.compute(version))
            if document is None:
                continue
            value = _inside(document, field)
            if version < since and value is not _NOTHING:
                return no(f"there in {version}")
            if version >= since and (value is _NOTHING or not fits(value)):
                return no(f"{'missing' if value is _NOTHING else repr(value)[:60]} in {version}")
            if version >= since:
                shown = yes(_shown(value))
        return shown

    return Fact(f"compute.{field} from {since} on", "D", expected, see)


def _shown(value: t.Any) -> str:
    # Who the VM is, is nobody's business who reads a bug report.
    return "an empty text" if value == "" else "a text" if isinstance(value, str) else "a list"


def _all_are_texts(answers: Answers) -> Seen:
    newest = [one for one in service.COMPUTE_VERSIONS if answers.document(service.compute(one)) is not None]
    if not newest:
        return no(answers[service.compute(service.COMPUTE_VERSIONS[-1])].words)
    other = [
        place
        for place, value in _leaves(answers.document(service.compute(newest[-1])), "")
        if not isinstance(value, str)
    ]
    return no(f"{other[0].strip('.')} is none") if other else yes("texts alone")


def _leaves(value: t.Any, place: str) -> list[tuple[str, t.Any]]:
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in _leaves(inner, f"{place}.{name}")]
    if isinstance(value, list):
        return [leaf for number, inner in enumerate(value) for leaf in _leaves(inner, f"{place}.{number}")]
    return [(place, value)]


def _versions(answers: Answers) -> list[str] | None:
    found = (answers.document("versions") or {}).get("apiVersions")
    return [str(version) for version in found] if isinstance(found, list) else None


def _lists_versions(answers: Answers) -> Seen:
    found = _versions(answers)
    return no(answers["versions"].words) if found is None else yes(f"{len(found)} versions")


def _has_all_versions(answers: Answers) -> Seen:
    found = _versions(answers)
    if found is None:
        return no(answers["versions"].words)
    missing = [version for version in DOCUMENTED_VERSIONS if version not in found]
    return no(f"without {', '.join(missing[:5])}") if missing else yes("all of them")


def _are_two_lists(answers: Answers) -> Seen:
    found = _versions(answers)
    if found is None:
        return no(answers["versions"].words)
    apart = [version for version in imds.API_VERSIONS if version not in DOCUMENTED_VERSIONS]
    both = [version for version in apart if version in found]
    return no(f"{', '.join(both)} in it") if both else yes(f"without {', '.join(apart)}")


def _refuses(point: str, question: str, status: int, grade: str = "D") -> Fact:
    def see(answers: Answers) -> Seen:
        heard = answers[question]
        return (yes if heard.status == status else no)(heard.words)

    return Fact(point, grade, f"HTTP {status}", see)


def _leaf_is_the_name(answers: Answers) -> Seen:
    heard, whole = answers["leaf as text"], answers.document(service.compute("2017-04-02"))
    if heard.status != 200 or whole is None:
        return no(heard.words)
    return yes("HTTP 200, compute.name") if heard.body.strip() == whole.get("name") else no("HTTP 200, another text")


INSTANCE_FACTS: tuple[Fact, ...] = (
    Fact("/metadata/versions is answered without api-version", "D", "a list apiVersions", _lists_versions),
    Fact("/metadata/versions has the documented versions of the instance metadata", "D", "all", _has_all_versions),
    Fact("the versions of events are a list of their own", "I", "some of them are not in it", _are_two_lists),
    _refuses(f"the instance metadata does not know {service.NEWEST}", "instance, version of events", 400, "I"),
    _refuses("the instance metadata needs an api-version", "instance, no version", 400),
    _refuses("the instance metadata asks for the header Metadata: true", "instance, no header", 400),
    _refuses("the instance metadata refuses X-Forwarded-For", "instance, forwarded", 400),
    _refuses("a leaf without format=text is refused", "leaf", 400),
    Fact("a leaf with format=text is its value", "D", "HTTP 200, compute.name", _leaf_is_the_name),
    _refuses("an element that does not exist is not found", "no element", 404),
    *(
        _instance_since(field, since, _is_flag, "true or false as a text")
        if field == "isHostCompatibilityLayerVm"
        else _instance_since(field, since)
        for field, since in _TEXT_SINCE.items()
    ),
    _instance_since("tagsList", "2019-06-04", _is_list_of_tags, "a list of names and values"),
    Fact("all that is no list and no object is a text", "D", "texts alone", _all_are_texts),
)


# The grades: [D] documented by Microsoft, [O] observed, [I] inferred and not verified on a real VM. Besides
# documents.py, only this file knows Azure's field names, as the facts are about how they are written.

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
        heard = answers[service.events(version)]
        document = answers.document(service.events(version))
        if document is None or not isinstance(document.get("Events"), list):
            return no(heard.words)
        return yes("HTTP 200, a document")

    return Fact(f"api-version {version} of events is answered", "D", "HTTP 200, a document", see)


def _names_newest(answers: Answers) -> Seen:
    found = (answers["no version"].data or {}).get("newest-versions") if _is_object(answers["no version"]) else None
    return yes("a list") if isinstance(found, list) and found else no(f"{found!r:.60}")


def _is_object(heard: service.Heard) -> bool:
    return isinstance(heard.data, dict)


def _incarnation_is_integer(answers: Answers) -> Seen:
    document = answers.document(service.events(service.NEWEST))
    if document is None:
        return no(answers[service.events(service.NEWEST)].words)
    number = document.get("DocumentIncarnation")
    return (yes if isinstance(number, int) and not isinstance(number, bool) else no)(f"{number!r:.60}")


def _same_number_same_content(answers: Answers) -> Seen:
    first, second = answers.document(service.events(service.NEWEST)), answers.document("again")
    if first is None or second is None:
        return no(answers["again"].words)
    one, two = first.get("DocumentIncarnation"), second.get("DocumentIncarnation")
    if one != two:
        return yes(f"{one!r}, then {two!r}: it has changed in between")
    return (yes if first.get("Events") == second.get("Events") else no)(
        f"{one!r} twice, with {'the same' if first.get('Events') == second.get('Events') else 'other'} events"
    )


SERVICE_FACTS: tuple[Fact, ...] = (
    *(_answers(version) for version in reversed(imds.API_VERSIONS)),
    Fact("DocumentIncarnation is a JSON integer", "O", "an integer", _incarnation_is_integer),
    Fact("the same DocumentIncarnation is the same content", "D", "the same events", _same_number_same_content),
    _status(f"{service.FIRST_GENERAL} and newer ask for the header Metadata: true", "D", "no header", 400),
    _status("a request without the header is told so", "D", "no header", 400, "Required metadata header not specified"),
    _status(f"{service.PREVIEW} does not ask for the header", "D", "no header, preview", 200),
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
