# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases: the lock hosts, the quorum and the holder."""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import math
import posixpath
import re
import typing as t
from collections.abc import Collection, Mapping, Sequence

from .._common.text import host_names, in_words, iso_time, natural, printable

LONGEST_TEXT = 200


def owner_in_words(owner: Mapping[str, t.Any]) -> str:
    """Such as "run nightly-7 of deploy@ctl1 (job 4711), since 2026-11-16T00:20:32Z, for 83 seconds more"."""
    told = {name: letters(owner.get(name, "?")) for name in ("run_id", "user", "host", "note", "taken_at")}
    note = f" ({told['note']})" if told["note"] else ""
    left = owner.get("seconds_left")
    more = f", for {letters(left)} seconds more" if left is not None else ""
    return f"run {told['run_id']} of {told['user']}@{told['host']}{note}, since {told['taken_at']}{more}"


def letters(text: t.Any) -> str:
    """What a managed host says, for a sentence."""
    return printable(text)[:LONGEST_TEXT]


# Lock hosts per lease. Every run chooses the same ones, whatever its pattern and limit are.
HOW_MANY = 3
LONGEST_NAME = 40


# By these a host says that it is a Windows host.
SIGNS_OF_WINDOWS = ("ansible_connection", "ansible_shell_type")


def windows_hosts(variables: Mapping[str, Mapping[str, t.Any]]) -> set[str]:
    """Of host -> its variables, those that say that they are Windows hosts."""
    return {
        host
        for host, known in variables.items()
        if known.get("ansible_connection") in ("winrm", "psrp")
        or known.get("ansible_shell_type") in ("powershell", "cmd")
    }


def lease_groups(
    delivery_groups: Mapping[str, str], overridden: Sequence[str] | None = None, windows: Collection[str] = ()
) -> dict[str, list[str]]:
    """Group -> its lock hosts: its first hosts in natural order, or those that the user names, for every group.

    `delivery_groups` is host -> `maintenance_delivery_group`, "" where it has none: these are one group together. Hosts
    in `windows` come last, as a call takes seconds there. Raises ValueError with a sentence for the user where
    `overridden` is no list of hosts.
    """
    members: dict[str, list[str]] = {}
    for host in sorted(delivery_groups, key=natural):
        members.setdefault(delivery_groups[host], []).append(host)
    if overridden is not None:
        # In one order for everybody, so that two runs do not take one each and wait for the other.
        chosen = sorted(host_names(overridden), key=natural)
        return {group: list(chosen) for group in sorted(members, key=natural)}
    for hosts in members.values():
        # What is sorted stays so among those that are equal.
        hosts.sort(key=lambda host: host in windows)
    return {group: members[group][:HOW_MANY] for group in sorted(members, key=natural)}


def group_path(path: str, group: str) -> str:
    """The file of a group, beside that of hosts without one, such as `run.set-web-5c1f0ab93d2e.lock`.

    A group may have any name. What is left of it there is for people; the number makes it another file.
    """
    if not group:
        return path
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", group).strip("-")[:LONGEST_NAME]
    number = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    folder, name = posixpath.split(path)
    stem, ending = posixpath.splitext(name)
    return posixpath.join(folder, f"{stem}.{'-'.join(filter(None, (readable, number)))}{ending}")


# One lock host may lie. Two runs that each got a majority share a lock host, and if that one lies, an honest one
# refuses: so one that refuses outweighs the majority, but not for ever, as it may be the one that lies.

TAKE, RENEW, RELEASE, READ = ACTIONS = ("take", "renew", "release", "read")

# So long one lock host outweighs a majority of the others: as long as a lease lasts that it may have granted.
SECONDS_OF_A_REFUSAL = 90.0
# After such a pause a refusal is a new one: another run may just be at work. Runs that race take the majority from each
# other for a moment; one that holds the lease does so for longer.
LONGEST_PAUSE = 300.0
LONGEST_WITHOUT_A_MAJORITY = 60.0

# What is taken of the notes of one lock host: for a host one of its drain, and one for each approval.
NOTE_KEYS = ("host", "events", "type", "run", "at", "mark")
MARK_KEYS = ("event", "hosts", "at", "takes_down", "vanishing")
MOST_NOTES_OF_A_HOST = 20
MOST_EVENTS, MOST_HOSTS, LONGEST_WORD = 100, 5000, 1000


class Refusal(t.TypedDict):
    """Since when a lock host alone has refused a lease that a majority granted, and when it last did."""

    since: float
    last: float


@dataclasses.dataclass(frozen=True)
class LeaseVerdict:
    """What the answers of all lock hosts of a group mean together."""

    group: str
    # This run has the lease.
    held: bool
    # Who has it, in words; "" for nobody.
    holder: str
    # All that some lock host has. Two lock hosts may have different ones for a host: both count. `by` names the lock
    # hosts that have it, `lacking` those that answered, remember back to its time, and do not have it.
    notes: tuple[Mapping[str, t.Any], ...]
    # The lock hosts that could not be reached, or could not do it.
    unread_lock_hosts: tuple[str, ...]
    # A majority grants the lease, and these lock hosts stand in its way.
    refused_by: tuple[str, ...]
    # The lock host that has refused for so long that the majority counts; "" for none.
    outvoted: str
    # For the next verdict on the same lease.
    refusals: Mapping[str, Refusal]
    # For the operator.
    msg: str


def verdict(
    group: str,
    lock_hosts: Sequence[str],
    results: Mapping[str, Mapping[str, t.Any]],
    do: str,
    hosts: Collection[str] | None = None,
    now: float | None = None,
    refused_before: Mapping[str, Refusal] | None = None,
) -> LeaseVerdict:
    """`results` is lock host -> what the module lease said there. A lock host without a result can't be reached.

    With `hosts`, notes about others are dropped: a lock host that lies keeps its own group waiting, and no other one.
    `refused_before` is what the verdict before this one returned as `refusals`. Without `now` no lock host is outvoted,
    and none is said to lack a note.
    """
    if not lock_hosts:
        raise ValueError("there is no lock host")
    answers = {lock_host: _Answer(results.get(lock_host), do) for lock_host in dict.fromkeys(lock_hosts)}
    needed = len(answers) // 2 + 1
    has_majority = do in (TAKE, RENEW) and sum(answer.counts for answer in answers.values()) >= needed
    refusing = [lock_host for lock_host, answer in answers.items() if answer.refuses]
    refusals = _refusals(refusing, has_majority, refused_before or {}, now)
    alone = refusing[0] if has_majority and len(refusing) == 1 else ""
    outvoted = alone if alone in refusals and is_outvoted(refusals[alone]) else ""
    held = has_majority and (not refusing or bool(outvoted))
    found = LeaseVerdict(
        group=group,
        held=held,
        holder=_holder(answers, held),
        notes=_tagged_notes(answers, hosts, now),
        unread_lock_hosts=tuple(lock_host for lock_host, answer in answers.items() if answer.unread),
        refused_by=tuple(refusing) if has_majority and not held else (),
        outvoted=outvoted,
        refusals=refusals,
        msg="",
    )
    return dataclasses.replace(found, msg=_sentence(found, answers, needed, do))


def is_outvoted(refusal: Refusal) -> bool:
    return refusal["last"] - refusal["since"] > SECONDS_OF_A_REFUSAL


def _refusals(
    refusing: Sequence[str], has_majority: bool, before: Mapping[str, Refusal], now: float | None
) -> dict[str, Refusal]:
    """Since when each lock host stands in the way of a majority. One that does not refuse has never refused."""
    if now is None:
        return {}
    if not has_majority:
        return {
            lock_host: before[lock_host]
            for lock_host in refusing
            if lock_host in before and 0 <= now - before[lock_host]["last"] <= LONGEST_WITHOUT_A_MAJORITY
        }
    found: dict[str, Refusal] = {}
    for lock_host in refusing:
        known = before.get(lock_host)
        goes_on = known is not None and len(refusing) == 1 and 0 <= now - known["last"] <= LONGEST_PAUSE
        found[lock_host] = {"since": known["since"] if known and goes_on else now, "last": now}
    return found


class _Answer:
    """The answer of one lock host, or what became of it. Of any shape: what is not surely a yes is none."""

    def __init__(self, result: t.Any, do: str) -> None:
        self.said: Mapping[str, t.Any] = result if isinstance(result, Mapping) else {}
        self.unread = not isinstance(self.said.get("held"), bool) or bool(
            self.said.get("failed") or self.said.get("unreachable")
        )
        self.counts = not self.unread and self.said["held"] and (do != RENEW or self.said.get("renewed") is True)
        holder = self.said.get("holder")
        self.holder: Mapping[str, t.Any] | None = holder if isinstance(holder, Mapping) and not self.unread else None
        # Somebody else has it there, and still keeps others out.
        self.refuses = not self.unread and not self.said["held"] and self.holder is not None
        self.too_new_for = self._seconds("too_new_for")
        self.state = self._state(do)

    def _seconds(self, name: str) -> float:
        found = self.said.get(name)
        return float(t.cast(float, found)) if not self.unread and _is_number(found) else 0.0

    def _state(self, do: str) -> str:
        if self.said.get("unreachable") or not self.said:
            return "unreachable"
        if self.unread:
            return letters(self.said.get("msg") or "no answer")
        if self.counts:
            return "held"
        if self.holder:
            return "busy"
        if self.too_new_for > 0:
            return f"its lock file is new; it grants nothing for {math.ceil(self.too_new_for)} s more"
        return "lapsed" if do == RENEW else "free"

    def notes(self, hosts: Collection[str] | None, now: float | None) -> dict[str, Mapping[str, t.Any]]:
        """Key -> note, for those that are of the right shape. A lock host may say anything."""
        said = self.said.get("notes")
        by_host: dict[str, list[Mapping[str, t.Any]]] = {}
        for note in said if isinstance(said, (list, tuple)) and not self.unread else ():
            if _is_note(note) and (hosts is None or note["host"] in hosts):
                mark = note["mark"] and {name: note["mark"][name] for name in MARK_KEYS}
                by_host.setdefault(note["host"], []).append({**{name: note[name] for name in NOTE_KEYS}, "mark": mark})
        for notes in by_host.values():
            notes.sort(key=lambda note: -_time_of(note, now))
        return {_note_key(note): note for notes in by_host.values() for note in notes[:MOST_NOTES_OF_A_HOST]}

    def remembers(self, note: Mapping[str, t.Any], now: float) -> bool:
        """Whether this lock host would still have the note if it had been given it."""
        if self.unread or self.too_new_for > 0:
            return False
        return now - self._seconds("remembers") <= _time_of(note, now)


def _is_note(found: t.Any) -> bool:
    if not isinstance(found, Mapping) or not all(_is_word(found.get(name)) for name in ("host", "type", "run")):
        return False
    mark = found.get("mark", 0)
    return (
        bool(found["host"])
        and _are_words(found.get("events"), MOST_EVENTS)
        and _is_number(found.get("at"))
        and (mark is None or _is_mark(mark))
    )


def _is_mark(found: t.Any) -> bool:
    return (
        isinstance(found, Mapping)
        and found.keys() >= set(MARK_KEYS)
        and _is_word(found["event"])
        and _are_words(found["hosts"], MOST_HOSTS)
        and _is_number(found["at"])
        and all(isinstance(found[name], bool) for name in ("takes_down", "vanishing"))
    )


def _is_word(found: t.Any) -> bool:
    return isinstance(found, str) and len(found) <= LONGEST_WORD


def _are_words(found: t.Any, most: int) -> bool:
    return isinstance(found, (list, tuple)) and len(found) <= most and all(map(_is_word, found))


def _is_number(found: t.Any) -> bool:
    try:
        return isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)
    except OverflowError:
        return False


def _time_of(note: Mapping[str, t.Any], now: float | None) -> float:
    """When it was written, by the clock of a controller. What lies in the future was written now."""
    return float(note["at"] if now is None else min(note["at"], now))


def _note_key(note: Mapping[str, t.Any]) -> str:
    return json.dumps([note[name] for name in NOTE_KEYS], sort_keys=True)


def _holder(answers: Mapping[str, _Answer], held: bool) -> str:
    """Who has most of the lock hosts: this run if it holds the lease, else who stands in its way."""
    named = [answer.holder for answer in answers.values() if answer.holder and bool(answer.counts) == held]
    if not named:
        return ""
    first = {_identity(holder): holder for holder in reversed(named)}
    ((most, _count),) = collections.Counter(map(_identity, named)).most_common(1)
    return owner_in_words(first[most])


def _identity(holder: Mapping[str, t.Any]) -> str:
    return json.dumps([holder.get(name) for name in ("run_id", "controller", "host", "pid")], default=str)


def _tagged_notes(
    answers: Mapping[str, _Answer], hosts: Collection[str] | None, now: float | None
) -> tuple[Mapping[str, t.Any], ...]:
    said = {lock_host: answer.notes(hosts, now) for lock_host, answer in answers.items()}
    found = {key: note for notes in said.values() for key, note in notes.items()}
    return tuple(
        {
            **found[key],
            "by": [lock_host for lock_host in answers if key in said[lock_host]],
            "lacking": [
                lock_host
                for lock_host, answer in answers.items()
                if now is not None and key not in said[lock_host] and answer.remembers(found[key], now)
            ],
        }
        for key in sorted(found)
    )


def _sentence(found: LeaseVerdict, answers: Mapping[str, _Answer], needed: int, do: str) -> str:
    lease = f"lease of {letters(found.group)}" if found.group else "lease"
    where = ", ".join(f"{lock_host}: {answer.state}" for lock_host, answer in answers.items())
    if do == READ:
        return f"The {lease} is held by {found.holder or 'nobody'} ({where})."
    if do == RELEASE:
        return f"The {lease} is given back ({where})."
    if found.held:
        return f"The {lease} is held ({where}).{_taken_over(answers)}{_outvoted(found, answers)}"
    ours = sum(bool(answer.counts) for answer in answers.values())
    count = f"{ours} of {len(answers)} lock hosts hold it for this run and it takes {needed} ({where})"
    if found.refused_by:
        return _refused(found, answers, lease, count, do)
    if len(answers) - len(found.unread_lock_hosts) < needed:
        both = " Of two lock hosts both are needed; one, or three, is better." if len(answers) == 2 else ""
        return (
            f"The {lease} can't be had: {count}.{both} Make {', '.join(found.unread_lock_hosts)} reachable again, or"
            " name other hosts in maintenance_lock_hosts, the same for every run"
        )
    if do == RENEW:
        since = f" Now it is held by {found.holder}." if found.holder else ""
        return f"This run has lost the {lease}: {count}.{since} Another run may have been at work since"
    if found.holder:
        return f"Another run is at work: the {lease} is held by {found.holder}; {count}. Wait until that run has ended"
    if any(answer.too_new_for > 0 for answer in answers.values()):
        return (
            f"The {lease} can't be had yet: {count}. A lock host that has lost its disk may have lost a lease with it"
        )
    return f"The {lease} can't be had: {count}. Run again"


def _refused(found: LeaseVerdict, answers: Mapping[str, _Answer], lease: str, count: str, do: str) -> str:
    begins = f"This run has lost the {lease}" if do == RENEW else f"The {lease} can't be had yet"
    says = "; ".join(
        f"{lock_host} says that it is held by {_holder_at(answers[lock_host])}" for lock_host in found.refused_by
    )
    return (
        f"{begins}: {count}, but {in_words(list(found.refused_by))} refuses it. {says}. If that goes on for more than"
        f" {SECONDS_OF_A_REFUSAL:.0f} s while all others grant it, that lock host is outvoted"
    )


def _outvoted(found: LeaseVerdict, answers: Mapping[str, _Answer]) -> str:
    if not found.outvoted:
        return ""
    says = f"It says that the lease is held by {_holder_at(answers[found.outvoted])}"
    return f" {outvoted_in_words(found.outvoted, found.refusals[found.outvoted], found.group)}. {says}."


def outvoted_in_words(lock_host: str, refusal: Refusal, group: str) -> str:
    lease = f"lease of {letters(group)}" if group else "lease"
    return (
        f"{lock_host} refuses the {lease} without reason since {iso_time(refusal['since'])}, although a majority of the"
        " lock hosts grants it, so it is outvoted. Look at that host"
    )


def _holder_at(answer: _Answer) -> str:
    return owner_in_words(answer.holder or {})


def _taken_over(answers: Mapping[str, _Answer]) -> str:
    for answer in answers.values():
        before = answer.said.get("took_over_from")
        if answer.counts and isinstance(before, Mapping):
            why = "whose process is dead" if before.get("reason") == "dead" else "which has lapsed"
            return f" It was taken over from {owner_in_words(before)}, {why}."
    return ""
