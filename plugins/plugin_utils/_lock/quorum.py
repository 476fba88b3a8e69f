# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a lease that is kept on several hosts is held: by a majority of them, or not at all. Pure."""

from __future__ import annotations

import collections
import dataclasses
import json
import typing as t
from collections.abc import Collection, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.holder import letters, owner_in_words

TAKE, RENEW, RELEASE, READ = DEEDS = ("take", "renew", "release", "read")
# Of who has nobody to ask.
NOTHING = "nothing"


@dataclasses.dataclass(frozen=True)
class LeaseVerdict:
    """What the answers of all lock hosts of a group mean together."""

    group: str
    # This run has the lease.
    held: bool
    # Who has it, in words; "" for nobody.
    holder: str
    # All that some lock host has. Two lock hosts may have different ones for a host: both count.
    notes: tuple[Mapping[str, t.Any], ...]
    # The lock hosts that could not be reached, or could not do it.
    lost_keepers: tuple[str, ...]
    # For the operator.
    msg: str


def verdict(
    group: str,
    keepers: Sequence[str],
    results: Mapping[str, Mapping[str, t.Any]],
    do: str,
    hosts: Collection[str] | None = None,
) -> LeaseVerdict:
    """`results` is lock host -> what the module lease said there. A lock host without a result can't be reached.

    With `hosts`, notes about others are dropped: a lock host that lies keeps its own group waiting, and no other one.
    """
    if not keepers:
        raise ValueError("there is no lock host")
    answers = {keeper: _Answer(results.get(keeper), do) for keeper in dict.fromkeys(keepers)}
    needed = len(answers) // 2 + 1
    held = do in (TAKE, RENEW) and sum(answer.counts for answer in answers.values()) >= needed
    found = LeaseVerdict(
        group=group,
        held=held,
        holder=_holder(answers, held),
        notes=tuple(note for note in _union(answers) if hosts is None or str(note.get("host")) in hosts),
        lost_keepers=tuple(keeper for keeper, answer in answers.items() if answer.lost),
        msg="",
    )
    return dataclasses.replace(found, msg=_sentence(found, answers, needed, do))


class _Answer:
    """The answer of one lock host, or what became of it. Of any shape: what is not surely a yes is none."""

    def __init__(self, result: t.Any, do: str) -> None:
        self.said: Mapping[str, t.Any] = result if isinstance(result, Mapping) else {}
        self.lost = not isinstance(self.said.get("held"), bool) or bool(
            self.said.get("failed") or self.said.get("unreachable")
        )
        self.counts = not self.lost and self.said["held"] and (do != RENEW or self.said.get("renewed") is True)
        holder = self.said.get("holder")
        self.holder: Mapping[str, t.Any] | None = holder if isinstance(holder, Mapping) and not self.lost else None
        self.state = self._state(do)

    def _state(self, do: str) -> str:
        if self.said.get("unreachable") or not self.said:
            return "unreachable"
        if self.lost:
            return letters(self.said.get("msg") or "no answer")
        if self.counts:
            return "held"
        if self.holder:
            return "busy"
        return "lapsed" if do == RENEW else "free"

    @property
    def notes(self) -> list[Mapping[str, t.Any]]:
        notes = self.said.get("notes")
        return (
            [note for note in notes if isinstance(note, Mapping)] if isinstance(notes, list) and not self.lost else []
        )


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


def _union(answers: Mapping[str, _Answer]) -> tuple[Mapping[str, t.Any], ...]:
    found: dict[str, Mapping[str, t.Any]] = {}
    for answer in answers.values():
        for note in answer.notes:
            found.setdefault(json.dumps(note, sort_keys=True, default=str), note)
    return tuple(found[text] for text in sorted(found))


def _sentence(found: LeaseVerdict, answers: Mapping[str, _Answer], needed: int, do: str) -> str:
    lease = f"lease of {letters(found.group)}" if found.group else "lease"
    where = ", ".join(f"{keeper}: {answer.state}" for keeper, answer in answers.items())
    if do == READ:
        return f"The {lease} is held by {found.holder or 'nobody'} ({where})."
    if do == RELEASE:
        return f"The {lease} is given back ({where})."
    if found.held:
        return f"The {lease} is held ({where}).{_taken_over(answers)}"
    ours = sum(bool(answer.counts) for answer in answers.values())
    count = f"{ours} of {len(answers)} lock hosts hold it for this run and it takes {needed} ({where})"
    if len(answers) - len(found.lost_keepers) < needed:
        both = " Of two lock hosts both are needed; one, or three, is better." if len(answers) == 2 else ""
        return (
            f"The {lease} can't be had: {count}.{both} Make {', '.join(found.lost_keepers)} reachable again, or name"
            " other hosts in maintenance_lock_hosts, the same for every run"
        )
    if do == RENEW:
        since = f" Now it is held by {found.holder}." if found.holder else ""
        return f"This run has lost the {lease}: {count}.{since} Another run may have been at work since"
    if found.holder:
        return f"Another run is at work: the {lease} is held by {found.holder}; {count}. Wait until that run has ended"
    return f"The {lease} can't be had: {count}. Run again"


def _taken_over(answers: Mapping[str, _Answer]) -> str:
    for answer in answers.values():
        before = answer.said.get("took_over_from")
        if answer.counts and isinstance(before, Mapping):
            why = "whose process is dead" if before.get("reason") == "dead" else "which has lapsed"
            return f" It was taken over from {owner_in_words(before)}, {why}."
    return ""
