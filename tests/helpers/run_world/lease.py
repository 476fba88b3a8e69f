# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock hosts, and what their answers mean together."""

from __future__ import annotations

import dataclasses

from .liars import note_told, told

LEASE = 90.0
# A lock host whose lock file is new may have lost a lease with its disk.
GRANTS_NOTHING_FOR = 100.0
# A lock host that refuses outweighs a majority for so long, and a later refusal after this pause is a new one.
OUTWEIGHS_FOR = 90.0
LONGEST_PAUSE = 300.0


@dataclasses.dataclass(frozen=True)
class Answer:
    """What one lock host says. It refuses if somebody else has the lease."""

    held: bool
    refuses: bool
    notes: dict
    remembers_since: float


class LockHost:
    """The lock file of one group on one machine, which may be a host of the fleet."""

    def __init__(self, world, name, group):
        self.world = world
        self.name = name
        self.group = group
        self.lies = ()
        self.loses_disk(float("-inf"))

    def loses_disk(self, now):
        self.holder = None
        self.expires = float("-inf")
        self.notes = {}
        self.remembers_since = now

    @property
    def now(self):
        return self.world.clock.now

    def is_running(self):
        return self.holder is not None and self.expires > self.now

    def take(self, run, notes=()):
        return self._answer(run, self._take(run), notes)

    def renew(self, run, notes=(), forget=()):
        """Only a lease that is still running."""
        ours = self.holder == run and self.is_running()
        may = ours or self._lie() or not self.world.parts.only_running_leases_are_renewed
        return self._answer(run, self._take(run) if may else False, notes, forget)

    def _take(self, run):
        lie = self._lie()
        if lie and lie.grants is not None:
            if lie.grants:
                self.holder, self.expires = run, self.now + LEASE
            return lie.grants
        if self.is_running() and self.holder != run:
            if not self.lies:
                self.world.truth.kept_out(self.holder, "the lease")
            return False
        if self.now < self.remembers_since + GRANTS_NOTHING_FOR and self.world.parts.new_lock_hosts_grant_nothing:
            return False
        self.holder, self.expires = run, self.now + LEASE
        return True

    def _answer(self, run, held, notes=(), forget=()):
        lie = self._lie()
        if held:
            kept = {key: note for key, note in self.notes.items() if note["host"] not in forget}
            self.notes = {**kept, **{_place(note): note for note in notes}}
        refuses = not held and ((self.is_running() and self.holder != run) or bool(lie and lie.grants is False))
        notes = [] if lie and lie.forgets else list(self.notes.values())
        notes += [note_told(invented, self.now) for invented in lie.notes] if lie else []
        said = {(*_place(note), note["run"], note["at"]): note for note in notes}
        return Answer(held, refuses, said, self.remembers_since)

    def _lie(self):
        lie = told(self.lies, self.now)
        return lie.lease if lie else None

    def forget(self, run, hosts):
        """What this run has written itself."""
        self.notes = {key: note for key, note in self.notes.items() if note["host"] not in hosts or note["run"] != run}

    def release(self, run):
        if self.holder == run:
            self.holder = None


def _place(note):
    """For each host one note of a drain, and one for each approval."""
    return note["host"], note["mark"]["event"] if note["mark"] else ""


class Quorum:
    """What the answers for one group mean to one run."""

    def __init__(self, parts):
        self.parts = parts
        self.refusals = {}  # lock host -> since when it alone stands in the way of a majority, and when it last did

    def holds(self, answers, now):
        if sum(answer.held for answer in answers.values()) < 2:
            return False
        refusing = [name for name, answer in answers.items() if answer.refuses]
        if not self.parts.a_refusal_outweighs:
            return True
        before, self.refusals = self.refusals, {}
        for name in refusing:
            since, last = before.get(name, (now, now))
            self.refusals[name] = (since if now - last <= LONGEST_PAUSE else now, now)
        return all(now - since > OUTWEIGHS_FOR for since, _last in self.refusals.values())

    def notes(self, answers, members):
        """All that some lock host has about hosts of the group, each with those that should have it and lack it."""
        found = {}
        for answer in answers.values():
            for key, note in answer.notes.items():
                if note["host"] in members:
                    found.setdefault(key, note)
        tagged = []
        for key, note in found.items():
            lacking = [
                name
                for name, answer in answers.items()
                if key not in answer.notes and answer.remembers_since <= note["at"]
            ]
            having = sum(key in answer.notes for answer in answers.values())
            if having > 1 or self.parts.one_note_is_enough:
                tagged.append({**note, "lacking": lacking})
        return tagged
