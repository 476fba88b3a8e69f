# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules: what may go down now, and what may be approved.

The decision is made again whenever something has changed, from the newest readings, so it is never about more than the
next thing to do. model.py defines the words, such as "under way" and "down".
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

from .._azure import events as azure
from .._common.text import natural, some_of
from . import model
from .model import Event, GroupState, Host, Move, Run, Verdict

# Why something does not begin. At its own deadline, `maintenance_overlap` decides about those in _FORCED.
_FAILED = "failed"
_UNCOVERED = "uncovered"
_WORKED_ON = "worked on"
_BEFORE = "before"
_ELSEWHERE = "elsewhere"
_OUT = "out"
_UNDER_WAY = "under way"
_SERVICE = "service"
_FORCED = (_UNDER_WAY, _SERVICE, _ELSEWHERE)


@dataclasses.dataclass(frozen=True)
class _Obstacle:
    cause: str
    why: str
    until: float | None = None
    never: bool = False
    # Who is in the way.
    hosts: tuple[str, ...] = ()


def what_may_go_down_now(run: Run) -> tuple[Move, ...]:
    """For each group what to do now, and what is held back for which reason. The most urgent group first."""
    states = group_states(run)
    room = _Room(run, states)
    return tuple(move for state in states for move in _Decision(state, room).moves())


def may_approve_now(event_id: str, run: Run, hosts: Iterable[str]) -> Verdict:
    """The check right before the POST, from the newest readings of the whole group of these hosts, which it names.

    A host of another group may show an event of the same id.
    """
    named = set(hosts)
    states = (state for state in group_states(run) if event_id in state.by_id)
    state = next((state for state in states if not named.isdisjoint(state.hosts)), None)
    if state is None:
        return Verdict(False, f"Event {event_id} is over")
    event = state.by_id[event_id]
    if event.started:
        return Verdict(False, f"Event {event_id} has started already")
    if event.action == "ignore":
        return Verdict(False, f"The policy ignores event {event_id}")
    obstacle = (
        _not_covered(state, event)
        or _not_drained(state, event)
        or _one_before(state, event)
        or _other_domain_down(state, event, state.down)
        or _earlier_elsewhere(state, event)
    )
    return Verdict(False, obstacle.why) if obstacle else Verdict(True)


def group_states(run: Run) -> list[GroupState]:
    members: dict[str, list[Host]] = {}
    for host in run.hosts:
        members.setdefault(host.group, []).append(host)
    states = [GroupState(run, name, hosts) for name, hosts in members.items()]
    return sorted(states, key=lambda state: (_first_due(state), natural(state.name)))


def _first_due(state: GroupState) -> float:
    dues = [event.position[0] for event in state.events if not run_leaves_alone(state, event)]
    return min(dues, default=math.inf)


def run_leaves_alone(state: GroupState, event: Event) -> bool:
    return event.action == "ignore" or state.run.may_act_on.isdisjoint(event.hosts)


def drain_deadline(run: Run, event: Event) -> float:
    """When a drain must begin at the latest: `drain_timeout` plus reserve before `not_before`."""
    return event.position[0] - run.settings.drain_timeout - run.settings.reserve


class _Decision:
    """The moves of one group."""

    def __init__(self, state: GroupState, room: _Room) -> None:
        self.state = state
        self.room = room
        self.run = state.run
        # What goes down by what is decided here.
        self.going: set[str] = set()
        # What stays drained although it is not approved.
        self.staying: set[str] = set()

    def moves(self) -> list[Move]:
        forgotten = self._forgotten()
        at_once = self._drained_at_once()
        busy = {name for move in at_once for name in move.hosts}
        sent = self._drained_after_the_approval(busy)
        busy |= {name for move in sent for name in move.hosts if move.kind == model.DRAIN}
        self.returnable = {host.name: host for host in self.state.actable if self._is_returnable(host, busy)}
        begun = self._begun(busy)
        finishing = self._finishing(busy, resent={move.approve for move in begun})
        returned = self._returned()
        waiting = {name for move in returned for name in move.hosts} & self.state.out
        # Rule 2: what is out comes first. Nothing begins until it is back in service.
        begun = [self._after_returns(move, waiting) for move in begun]
        return [*forgotten, *at_once, *sent, *finishing, *returned, *self._not_returned(), *begun, *self._unread()]

    def _move(self, kind: str, hosts: Iterable[str], events: Iterable[str] = (), why: str = "") -> Move:
        names = tuple(sorted(hosts, key=natural))
        taken = tuple(name for name in names if self.state.is_taken_over(self.state.hosts[name]))
        return Move(kind, self.state.name, names, tuple(events), why=why, take_over=taken)

    def _hold(self, event: Event, obstacle: _Obstacle) -> Move:
        hosts = tuple(name for name in event.hosts if name in self.run.may_act_on)
        deadline = drain_deadline(self.run, event)
        soonest = [at for at in (obstacle.until, deadline) if at is not None and at > self.run.now]
        return Move(
            model.HOLD,
            self.state.name,
            hosts,
            (event.id,),
            why=obstacle.why,
            until=min(soonest, default=None),
            never=obstacle.never,
            short_of_service=obstacle.cause == _SERVICE,
            in_the_way=obstacle.hosts,
        )

    def _forgotten(self) -> list[Move]:
        """(9) A journal with nothing drained and no event that is still shown is removed by whoever reads it."""
        return [
            self._move(model.FORGET, [host.name], sorted(model.events_in_journal(host.journal)))
            for host in self.state.actable
            if host.journal
            and not self.state.has_something_drained(host)
            and model.events_in_journal(host.journal).isdisjoint(host.shows)
            and not self.state.is_worked_on(host)
        ]

    def _drained_at_once(self) -> list[Move]:
        """What is not held back by anybody, and needs no lease: the host's journal is lock enough."""
        found = []
        for event in [event for event in self.state.events if event.action == "drain"]:
            hosts = [name for name in event.hosts if self._is_due_at_once(name, event)]
            if hosts:
                why = f"{event.type} {event.id} takes the VM away"
                found.append(self._move(model.DRAIN, hosts, self._round_events(event), why))
        return found

    def _drained_after_the_approval(self, busy: set[str]) -> list[Move]:
        """(8) A host that a sent event names later; rule 3: one that lost its journal while its event is under way."""
        found = []
        for event in [event for event in self.state.events if event.action == "drain" and not event.takes_away]:
            hosts = [name for name in event.hosts if name not in busy and self._is_caught(name, event)]
            if not hosts:
                continue
            others = self.state.in_the_way((*event.hosts, *event.outside), self.state.down | self.going)
            if others:
                why = f"{event.id} was sent, and {some_of(others)}, of another domain, is not in service"
                found.append(self._hold(event, _Obstacle(_OUT, why, hosts=tuple(others))))
                continue
            self.going.update(event.hosts)
            move = self._move(model.DRAIN, hosts, self._round_events(event), f"{event.id} was sent")
            found.append(dataclasses.replace(move, needs_lease=True))
        return found

    def _is_caught(self, name: str, event: Event) -> bool:
        if not self._is_to_drain(name, event) or not self.state.is_under_way(event):
            return False
        host = self.state.hosts[name]
        lost = not (host.journal and host.journal.drained) and event.id in self.state.drained_for(host)
        return lost or self.state.is_sent_for(host, event)

    def _is_due_at_once(self, name: str, event: Event) -> bool:
        """Rule 4: the VM of a Preempt or Terminate is taken away in any case."""
        return event.takes_away and not event.started and self._is_to_drain(name, event)

    def _is_to_drain(self, name: str, event: Event) -> bool:
        host = self.state.hosts.get(name)
        if host is None or not self.state.speaks_for(name, event):
            return False
        return not _is_drained(host, event) and not self.state.is_worked_on(host)

    def _finishing(self, busy: set[str], resent: set[str]) -> list[Move]:
        """Rule 2: a host whose event is marked or Started is waited for, and never returned to service before."""
        found = []
        for host in self.state.actable:
            ours = self.state.has_something_drained(host) or (host.journal and host.journal.marks)
            if not ours or host.name in busy or host.name in self.returnable:
                continue
            # What takes nothing down is waited for too, once it was sent: then its mark is removed.
            event = self.state.event_under_way_of(host) or self.state.event_marked_on(host)
            if not event or event.id in resent:
                continue
            if self.state.is_worked_on(host):
                found.append(self._hold(event, self._worked_on(host)))
            else:
                found.append(self._move(model.FINISH, [host.name], [event.id], f"{event.id} is under way"))
        return found

    def _unread(self) -> list[Move]:
        """What is down and can't be read is waited for: only a good reading shows that its event is over."""
        awaited = (self.state.down | self.state.marked_hosts) & self.run.may_act_on
        return [
            self._move(model.HOLD, [host.name], why=f"{host.name} is down and can't be read")
            for host in self.state.hosts.values()
            if not host.read and host.name in awaited
        ]

    def _is_returnable(self, host: Host, busy: set[str]) -> bool:
        """Something of it is drained, and nothing speaks against its return to service."""
        return (
            self.state.has_something_drained(host)
            and host.name not in busy
            and not host.stuck
            and not self.state.event_under_way_of(host)
            and not self.state.is_worked_on(host)
            # It is taken away anyway; work returned to it would only be lost.
            and not any(event.takes_away and event.action == "drain" for event in self.state.by_host.get(host.name, ()))
        )

    def _returned(self) -> list[Move]:
        """Rule 2: what is out and neither under way nor the next is returned to service."""
        found = []
        for host in self.returnable.values():
            if host.name in self.going or host.name in self.staying:
                continue
            events = sorted(self.state.drained_for(host))
            move = self._move(model.RETURN, [host.name], events, "Its event is over, or is not the next")
            # The lease is needed to return a host to service whose event is still shown.
            still = any(event.takes_down for event in self.state.by_host.get(host.name, ()) if event.id in host.shows)
            found.append(dataclasses.replace(move, needs_lease=still))
        return found

    def _not_returned(self) -> list[Move]:
        """What is out, but in the hands of another run, or can't be returned."""
        found = []
        for host in self.state.actable:
            if self.state.has_something_drained(host) and not self.state.event_under_way_of(host):
                if self.state.is_worked_on(host):
                    found.append(self._wait_for_other_run(host))
                elif host.stuck:
                    found.append(
                        self._move(model.HOLD, [host.name], why=f"{host.name} can't be returned: {host.stuck}")
                    )
        return found

    def _wait_for_other_run(self, host: Host) -> Move:
        obstacle = self._worked_on(host)
        return dataclasses.replace(self._move(model.HOLD, [host.name], why=obstacle.why), until=obstacle.until)

    def _worked_on(self, host: Host) -> _Obstacle:
        owner = host.journal.owner if host.journal else ""
        why = f"Run {owner} is at work on {host.name}"
        return _Obstacle(_WORKED_ON, why, until=self.state.worked_on_until(host))

    def _begun(self, busy: set[str]) -> list[Move]:
        """The next of the group with what goes along, and what is held back."""
        moves = []
        # A host that is out, but may be returned to service, is returned first and delays nobody.
        fixed = self.state.down - set(self.returnable)
        for event in self.state.events:
            # One thing at a time for each host.
            if not self._is_candidate(event) or not busy.isdisjoint(event.hosts):
                continue
            down = fixed | self.going | self.staying
            obstacle = self._obstacle(event, down)
            if obstacle is None:
                moves.append(self._round(event))
            elif self._is_drained_all_the_same(event, obstacle, down):
                moves.append(self._drain_only(event, obstacle))
            else:
                moves.append(self._hold(event, obstacle))
        return moves

    def _is_candidate(self, event: Event) -> bool:
        if event.started or run_leaves_alone(self.state, event):
            return False
        sent = self.state.last_sent(event)
        # (8) A marked event that shows Scheduled for 60 s is sent again.
        return sent is None or self.run.now - sent >= self.run.settings.resend_after

    def _obstacle(self, event: Event, down: set[str]) -> _Obstacle | None:
        if self.state.name in self.run.failures:
            # Rule 1: a failure stops its own group, not the others.
            return _Obstacle(_FAILED, f"Not begun, as something went wrong: {self.run.failures[self.state.name]}")
        return (
            _not_covered(self.state, event)
            or self._at_work(event)
            or _one_before(self.state, event)
            or _other_domain_down(self.state, event, down)
            or _earlier_elsewhere(self.state, event)
            or self.room.obstacle(self.state, event)
        )

    def _at_work(self, event: Event) -> _Obstacle | None:
        """Only what has lapsed is taken over."""
        for name in event.hosts:
            host = self.state.hosts.get(name)
            if host and self.state.is_worked_on(host):
                return self._worked_on(host)
        return None

    def _round(self, event: Event) -> Move:
        if event.takes_down:
            self.going.update(event.hosts)
            self.room.take(event.hosts)
        hosts = [name for name in event.hosts if name in self.state.hosts]
        move = self._move(model.ROUND, hosts, self._round_events(event) if event.action == "drain" else ())
        return dataclasses.replace(move, approve=event.id, needs_lease=True)

    def _round_events(self, event: Event) -> tuple[str, ...]:
        """Rule 3: events that name the same hosts, or a part of them, are one round: one drain."""
        named = set(event.hosts)
        together = {
            other.id: other
            for name in event.hosts
            for other in self.state.by_host[name]
            if other.action == "drain" and named.issuperset(other.hosts)
        }
        return tuple(other.id for other in sorted(together.values(), key=lambda other: other.position))

    def _is_drained_all_the_same(self, event: Event, obstacle: _Obstacle, down: set[str]) -> bool:
        """`drain_timeout` plus reserve before `not_before`: drained, but not approved."""
        if event.action != "drain" or self.run.now < drain_deadline(self.run, event):
            return False
        proceeds = self.run.settings.overlap == "proceed"
        rule_1 = _other_domain_down(self.state, event, down)
        if obstacle.cause not in (*_FORCED, _UNCOVERED) or (rule_1 and rule_1.cause != _UNDER_WAY):
            return False
        # Rule 4 goes before rule 2: what is drained already, and has no time left for a return, stays so.
        self.staying.update(name for name in event.hosts if name in self.returnable)
        # Rule 7: its readable hosts, if rules 1 and 5 allow. Rules 4, 5 and the order of the document: with `proceed`.
        free = not rule_1 and not self.room.obstacle(self.state, event)
        forced = proceeds or (obstacle.cause == _UNCOVERED and free)
        return forced and bool(self._to_drain(event))

    def _to_drain(self, event: Event) -> list[str]:
        return [name for name in event.hosts if self._is_to_drain(name, event)]

    def _drain_only(self, event: Event, obstacle: _Obstacle) -> Move:
        hosts = self._to_drain(event)
        self.going.update(event.hosts)
        self.room.take(hosts)
        move = self._move(model.DRAIN, hosts, self._round_events(event), f"Drained, but not approved: {obstacle.why}")
        return dataclasses.replace(move, needs_lease=True)

    def _after_returns(self, move: Move, returning: set[str]) -> Move:
        if move.kind not in (model.ROUND, model.DRAIN):
            return move
        blockers = self.state.in_the_way(move.hosts, returning)
        if not blockers:
            return move
        why = f"First {some_of(blockers)} must be back in service"
        return dataclasses.replace(move, kind=model.HOLD, approve="", needs_lease=False, take_over=(), why=why)


def _is_drained(host: Host, event: Event) -> bool:
    """All of it, for this event, and no return has begun (5)."""
    journal = host.journal
    return bool(journal and journal.finished and not journal.returning and event.id in journal.events)


def _not_covered(state: GroupState, event: Event) -> _Obstacle | None:
    """Every name must be a host that itself shows the event, and on which this run may act."""
    if state.is_covered(event):
        return None
    missing = [name for name in event.hosts if not state.speaks_for(name, event)]
    outside = [name for name in event.hosts if name not in state.hosts]
    if state.run.settings.uncovered != "allow":
        missing += event.outside
        outside += event.outside
    why = f"Nobody speaks in this run for {some_of(missing)}, which event {event.id} names"
    # Nobody will, and its hosts are drained when this run has long ended.
    never = bool(outside) and drain_deadline(state.run, event) > state.run.now + state.run.settings.patience
    return _Obstacle(_UNCOVERED, why, never=never)


def _not_drained(state: GroupState, event: Event) -> _Obstacle | None:
    if event.action != "drain":
        return None
    hosts = [
        name
        for name in event.hosts
        if not _is_drained(state.hosts[name], event) or state.is_taken_over(state.hosts[name])
    ]
    return _Obstacle(_OUT, f"{some_of(hosts)} is not drained by this run for event {event.id}") if hosts else None


def _one_before(state: GroupState, event: Event) -> _Obstacle | None:
    """Rule 3 (6): of the events that share a host the next is approved when the one before is over."""
    for name in event.hosts:
        for other in state.by_host.get(name, ()):
            if other.id != event.id and _must_be_gone(state, other, event):
                return _Obstacle(_BEFORE, f"Event {other.id}, which names {name} too, comes before event {event.id}")
    return None


def _must_be_gone(state: GroupState, other: Event, event: Event) -> bool:
    if state.is_under_way(other):
        return True
    if (
        other.started
        # No two events have the same place.
        or other.position > event.position  # pragma: no mutate
    ):
        return False
    if azure.event_type(other.type).blocks == azure.SAME_VM:
        # Whatever becomes of it: while it is due first, nothing else of that host is approved.
        return True
    # One that this run can't approve, or that takes nothing down, keeps nobody waiting.
    return other.takes_down and other.action != "ignore" and state.is_covered(other)


def _other_domain_down(state: GroupState, event: Event, down: Iterable[str]) -> _Obstacle | None:
    """Rules 1 and 4."""
    going = (*event.hosts, *event.outside)
    names = state.in_the_way(going, down)
    if not names:
        return None
    others = [name for name in names if name not in state.taken_by_events]
    if not others:
        event_id = state.taken_by_events[names[0]]
        why = f"Event {event_id} is under way for {some_of(names)}, of another domain"
        return _Obstacle(_UNDER_WAY, why, hosts=tuple(names))
    return _Obstacle(_OUT, f"{some_of(others)}, of another domain, is not in service", hosts=tuple(names))


def _earlier_elsewhere(state: GroupState, event: Event) -> _Obstacle | None:
    """Runs that share no inventory take the events in the order of the document."""
    first = state.first_elsewhere
    if first is None or first.position >= event.position:
        return None
    why = f"Event {first.id} comes first, and another run may have {some_of(list(first.outside))}"
    return _Obstacle(_ELSEWHERE, why)


def _is_down_by_its_own_word(state: GroupState, name: str) -> bool:
    """Where all groups are counted together, what a host says of others would hold up groups that are not its own."""
    host = state.hosts.get(name)
    if host is None:
        return False
    own = (event for event in state.by_host.get(name, ()) if event.id in host.named_with)
    return not host.read or name in state.out | state.marked_hosts or any(state.is_under_way(event) for event in own)


class _Room:
    """Rule 5: how many may be down at once, in all groups together, and how many must be in service."""

    def __init__(self, run: Run, states: list[GroupState]) -> None:
        self.run = run
        self.down = {name for state in states for name in state.down if _is_down_by_its_own_word(state, name)}
        self.hosts = {host.name: host for host in run.hosts}
        self.services: dict[str, list[str]] = {}
        if run.settings.min_in_service is not None:
            belongs = run.services or {host.name: host.service for host in run.hosts}
            for name, service in belongs.items():
                self.services.setdefault(service, []).append(name)
        self.drained = {
            host.name for state in states for host in state.hosts.values() if state.has_something_drained(host)
        }

    def take(self, names: Iterable[str]) -> None:
        self.down.update(names)

    def obstacle(self, state: GroupState, event: Event) -> _Obstacle | None:
        new = {name for name in event.hosts if name not in self.down}
        if not event.takes_down or event.takes_away or not new:
            return None
        limit = self.run.settings.max_at_once
        others = self.down - set(event.hosts)
        if limit is not None and others and len(others) + len(event.hosts) > limit:
            # An event can't be parted: one that is larger than the limit goes alone.
            why = f"{len(others)} hosts are down already, and maintenance_max_at_once is {limit}"
            return _Obstacle(_SERVICE, why)
        if self.services:
            for service in sorted({state.hosts[name].service for name in event.hosts if name in state.hosts}):
                if short := self._short_of(service, set(event.hosts)):
                    return short
        return None

    def _short_of(self, service: str, going: set[str]) -> _Obstacle | None:
        names = self.services.get(service, [])
        least = at_least(self.run.settings.min_in_service, len(names))
        # Whom this run leaves out it does not read: they never count as in service.
        staying = [self.hosts[name] for name in names if name not in going and name in self.hosts]
        good = [
            host
            for host in staying
            if host.read and host.healthy and host.name not in self.down and host.name not in self.drained
        ]
        if len(good) >= least:
            return None
        called = f" of {service}" if service else ""
        why = f"{len(good)} hosts{called} would be in service, and maintenance_min_in_service is {least}"
        return _Obstacle(_SERVICE, why, never=len(staying) < least)


def at_least(value: int | str | None, count: int) -> int:
    """A number of hosts from an int, "5" or "50%" of `count`. A share is rounded up: it is a promise."""
    if value is None:
        return 0
    text = str(value).strip()
    if text.endswith("%"):
        return math.ceil(count * int(text[:-1].strip()) / 100)
    return int(text)
