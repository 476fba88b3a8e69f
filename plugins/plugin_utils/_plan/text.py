# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan in words."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from .._azure import doubts, vms
from .._common.text import LINE_WIDTH, clock, in_words, some_of, wrapped
from .plan import Plan, PlanEntry, PlanWave

_MOST = 8
_ACTIONS = {
    "drain": "drain {hosts}",
    "approve": "approve it",
    "wait": "wait until it is over and the hosts are back",
    "restore": "return {hosts} to service",
}
_START_ACTIONS = {
    "drain": "drain {count}",
    "approve": "approve",
    "wait": "wait until it is over",
    "restore": "return to service",
}


def render_plan(plan: Plan, width: int = LINE_WIDTH) -> list[str]:
    """Lines of at most `width` characters, as far as names allow."""
    lines: list[str] = []

    def say(text: str, indent: int = 0) -> None:
        lines.extend(wrapped(text, width, indent))

    waves = plan["waves"]
    for text in _leftovers(plan):
        say(text)
    if not waves:
        say("No wave: no host that was read needs a drain or an approval.")
    for wave in waves:
        say(f"Wave {wave['number']} of {wave['of']}: {in_words(wave['domains'])}, {_when(wave, wave['seconds_left'])}")
        say(f"{_hosts(wave['hosts'])}", 2)
        for event in wave["events"]:
            for indent, text in _event(event):
                say(text, indent)
        for warning in wave["warnings"]:
            say(f"Warning: {warning}", 2)
    for event in plan["ignored"]:
        say(f"Left alone: {_title(event)} for {some_of(event['hosts'], _MOST)}. {_sentence(event['why'])}")
    for doubt in plan["not_believed"]:
        say(f"Not trusted: {doubt['why']}")
    for group in plan["unread"]:
        why = f". {group['why']}" if group["why"] else ""
        say(f"Unread, so nothing is known about {_hosts(group['hosts'])}{why}")
    for group in plan["journal_problems"]:
        say(f"Not known whether an earlier run left it drained: {_hosts(group['hosts'])}. {group['why']}")
    if plan["nothing_to_do"]:
        say(f"Nothing to do for {_hosts(plan['nothing_to_do'])}")
    return lines


def render_start(check: Mapping[str, t.Any], now: float) -> list[str]:
    """Where a run is, before its next batch begins: what `check_batch` found, for somebody at the terminal."""
    wave = check["wave"]
    if check["stop"] or wave is None:
        return wrapped(check["stop"])
    due = vms.moment(wave["deadline"])
    left = None if due == vms.NOW or wave["underway"] else int(due - now)
    lines = wrapped(f"Wave {wave['number']} of {wave['of']}: {in_words(wave['domains'])}, {_when(wave, left)}")
    lines += wrapped(_hosts(wave["hosts"]), indent=2)
    for event in wave["events"][:_MOST]:
        actions = [_START_ACTIONS[step].format(count=_counted(len(event["hosts"]), "host")) for step in event["steps"]]
        lines += wrapped(f"{event['type']} {event['id']}: {', '.join(actions)}", indent=2)
    if len(wave["events"]) > _MOST:
        lines.append(f"  and {_counted(len(wave['events']) - _MOST, 'more event')}")
    return lines


def _leftovers(plan: Plan) -> list[str]:
    said = []
    if plan["restore_first"]:
        said.append(f"First return to service what an earlier run left drained: {_hosts(plan['restore_first'])}")
    if plan["already_drained"]:
        said.append(f"Drained by an earlier run, and still needed: {_hosts(plan['already_drained'])}")
    if plan["left_drained"]:
        said.append(f"Drained by an earlier run and unread now, so left drained: {_hosts(plan['left_drained'])}")
    return said


def _when(wave: PlanWave, left: int | None) -> str:
    if wave["underway"]:
        started = any(event["status"] == "Started" for event in wave["events"])
        return "already started" if started else "due now"
    if left is None:
        return f"due at {wave['deadline']}"
    return f"due in {clock(left)} ({wave['deadline']})"


def _title(event: PlanEntry) -> str:
    by = f" by {event['source']}" if event["source"] else ""
    lasting = f", {event['duration_seconds']} s" if event["duration_seconds"] is not None else ""
    return f"{event['type']}{by}{lasting}, event {event['id']}"


def _event(event: PlanEntry) -> list[tuple[int, str]]:
    # Only who shows it himself is drained for it.
    hosts = some_of(event["shown_by"] or event["hosts"], _MOST)
    said = [(2, f"{_title(event)}, {event['status']}, names {some_of(event['resources'], _MOST)}")]
    if event["description"]:
        said.append((4, f'Azure says: "{event["description"]}"'))
    # Where the drain comes too late, only an earlier run can have drained anything.
    restored = hosts if "drain" in event["steps"] else "what is drained"
    actions = [_ACTIONS[step].format(hosts=restored if step == "restore" else hosts) for step in event["steps"]]
    if event["vanishing"]:
        actions.append("not wait for it, as the VM does not come back")
    said.append((4, _sentence(", then ".join(actions))))
    said.append((4, f"Why: {event['why']}."))
    said += [(4, text) for text in _why_not(event)]
    return said


def _why_not(event: PlanEntry) -> list[str]:
    """Whom an approval would surprise."""
    said = []
    verb = "It is approved all the same" if event["approvable"] else "It is not approved"
    silent = event["not_shown_by"]
    not_covered = [name for name in event["uncovered"] if name not in event["not_believed_of"]]
    if not_covered:
        names = _outside({**event, "uncovered": not_covered})
        said.append(f"{verb}: it also names {names}, and approving starts it for them too.")
    if silent and event["not_believed_of"]:
        said.append(f"{verb}: {doubts.who_shows_it(event['shown_by'], silent)}.")
    elif silent:
        said.append(
            f"{doubts.who_shows_it(event['shown_by'], silent)}: they are read once more before anything is done, and"
            " unless all show it then, it is not approved."
        )
    return said


def _outside(event: PlanEntry) -> str:
    names = some_of(event["uncovered"], _MOST)
    if event["not_in_run"]:
        return f"{names} (in the inventory, but not in this run: {some_of(event['not_in_run'], _MOST)})"
    return f"{names}, which no host of this run is known to be (is the inventory, or this slice of it, complete?)"


def _hosts(hosts: list[str]) -> str:
    return f"{_counted(len(hosts), 'host')}: {some_of(hosts, _MOST)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."
