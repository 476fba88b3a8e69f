# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts about how events are written. They need an event that is in the document now. Pure."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.vms import EventData
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.answers_heard import (
    NEWEST,
    PREVIEW,
    Answers,
    events,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts_table import Fact, Seen, no, not_seen, yes

_NO_EVENT = "there is no event in the document now"
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_RFC_1123 = re.compile(r"[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT")
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TYPES = ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate")
_FIELD_SINCE = {"Description": "2019-04-01", "EventSource": "2019-08-01", "DurationInSeconds": "2020-07-01"}
_TYPE_SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}


def events_in(answers: Answers, question: str) -> dict[str, EventData]:
    document = answers.document(question) or {}
    listed = document.get("Events")
    found = [event for event in listed if isinstance(event, dict)] if isinstance(listed, list) else []
    return {str(event.get("EventId")).casefold(): event for event in found}


def _lasting(answers: Answers) -> dict[str, EventData]:
    """Those that were there all the time that was asked, in the same state."""
    first, last = events_in(answers, events(NEWEST)), events_in(answers, "again")
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
        found = [one for one in events_in(answers, events(NEWEST)).values() if status in ("", one.get("EventStatus"))]
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
        for version in API_VERSIONS:
            shown = [event for name, event in events_in(answers, events(version)).items() if name in lasting]
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
        for version in API_VERSIONS:
            if answers.document(events(version)) is None:
                continue
            shown = lasting[0] in events_in(answers, events(version))
            if shown != (version >= since):
                return no(f"{'shown' if shown else 'not shown'} in {version}")
        return yes(f"shown from {since} on alone")

    return Fact(f"a {kind} is hidden before {since}", "O", f"shown from {since} on alone", see)


def _in_preview(field: str, expected: str, fits: Callable[[t.Any, t.Any], bool], status: str = "") -> Fact:
    """A fact that compares a field in the first version with the newest."""

    def see(answers: Answers) -> Seen:
        old = events_in(answers, events(PREVIEW))
        pairs = [
            (old[name].get(field), event.get(field))
            for name, event in _lasting(answers).items()
            if name in old and status in ("", event.get("EventStatus"))
        ]
        if not pairs:
            return not_seen(_NO_EVENT)
        wrong = [pair for pair in pairs if not fits(*pair)]
        return (no if wrong else yes)(f"{(wrong or pairs)[0][0]!r:.80}")

    return Fact(f"{field} of an event in {PREVIEW}", "D", expected, see)


def _with_underscore(old: t.Any, new: t.Any) -> bool:
    return _is_names(old) and _is_names(new) and old == [f"_{name}" for name in new]


def _names_this_vm(answers: Answers) -> Seen:
    heard = answers["leaf as text"]
    found = events_in(answers, events(NEWEST)).values()
    names = [str(name) for event in found for name in event.get("Resources") or ()]
    mine = [name for name in names if name.casefold() == heard.body.strip().casefold()]
    if heard.status != 200 or not mine:
        return not_seen("no event names this VM now")
    return yes(mine[0])


EVENT_FACTS: tuple[Fact, ...] = (
    _field("EventId", "a GUID", lambda value: isinstance(value, str) and bool(_GUID.fullmatch(value)), "O"),
    _field("EventType", f"one of {', '.join(_TYPES)}", lambda value: value in _TYPES),
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
    *(_hidden(kind, since) for kind, since in _TYPE_SINCE.items()),
    _in_preview("Resources", "names with an underscore in front", _with_underscore),
    _in_preview(
        "NotBefore",
        "a time in ISO form",
        lambda old, _new: isinstance(old, str) and bool(_ISO.fullmatch(old)),
        status="Scheduled",
    ),
    Fact("Resources hold the name that the instance metadata tells", "D", "compute.name", _names_this_vm),
)
