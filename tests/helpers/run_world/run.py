# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of a roll: reads, decides with the real decide.py, and does what it was told, as the protocol says it."""

from __future__ import annotations

import copy
import dataclasses
import random

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import decide, model

from . import batches
from .machines import WORKED_ON, Refused

GROUP = "set"
BATCH_PATIENCE = 600.0
# A reading that is no older, and between which and the lease nobody came, need not be made again.
FRESH = 5.0


class Unreachable(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Reading:
    token: tuple
    incarnation: int
    events: tuple  # (id, type, action, status, not_before, hosts, strangers)
    journal: object
    at: float


class Run:
    def __init__(
        self,
        world,
        name,
        hosts,
        patience=1500.0,
        settings=None,
        drain_takes=None,
        latency=0.5,
        batched=False,
        quick=False,
    ):
        self.world = world
        self.name = name
        self.pattern = list(hosts)
        self.patience = patience
        self.settings = settings or model.Settings(drain_timeout=60.0, reserve=20.0)
        if not world.parts.sent_again:
            self.settings = dataclasses.replace(self.settings, resend_after=float("inf"))
        self.drain_takes = drain_takes or {}
        self.latency = latency
        self.batched = batched
        # It asks for the lease right after the plan, and reads again only where somebody may have come between.
        self.quick = quick
        self.told = {}
        self.acts_on = frozenset(hosts)
        self.random = random.Random(f"{world.random.random()} {name}")
        self.killed_at = None
        self.stopped_until = float("-inf")
        self.cut_from = set()
        self.seen = {}  # host -> its last good reading
        self.kept = {}  # what a run in batches goes by for the hosts of other batches: the same, since its plan
        self.heard = {}  # note -> when this run first heard of it
        self.ended_at = None
        self.notes = {}
        self.first_acts = []

    # -- what happens to it

    def kill(self):
        self.killed_at = self.world.clock.now
        self.world.tell(f"{self.name} is killed")

    def stop(self, seconds):
        self.stopped_until = self.world.clock.now + seconds
        self.world.tell(f"{self.name} is stopped for {seconds:.0f} s")

    def point(self, label):
        accident = self.world.accidents.pop((self.name, label), None)
        if accident is None:
            return
        if accident[0] == "kill":
            self.kill()
        elif accident[0] == "cut":
            self.cut_from |= set(accident[1])
            return
        else:
            self.stop(accident[1])
        yield 0.0

    def is_connected(self, host):
        alive = self.killed_at is None and self.stopped_until <= self.world.clock.now
        return alive and host not in self.cut_from and self.world.hosts[host].up

    # -- the ways to machines

    def _wait(self):
        return self.latency * (0.5 + self.random.random())

    def on_host(self, host, command, *args):
        yield self._wait()
        if host in self.cut_from or not self.world.hosts[host].up:
            yield 5.0
            raise Unreachable(host)
        result = getattr(self.world.hosts[host], command)(*args)
        self.world.tell(f"{self.name}: {command} {host} {args[-2:] if args else ''}")
        yield self._wait()
        if host in self.cut_from or not self.world.hosts[host].up:
            raise Unreachable(host)
        return result

    def on_balancer(self, command, *args):
        yield self._wait()
        result = getattr(self.world.balancer, command)(*args)
        self.world.tell(f"{self.name}: balancer {command} {args}")
        yield self._wait()
        return result

    def _reachable_keepers(self):
        return [keeper for number, keeper in enumerate(self.world.keepers) if f"k{number}" not in self.cut_from]

    def take_lease(self, notes):
        yield self._wait()
        keepers = self._reachable_keepers()
        got = [keeper for keeper in keepers if keeper.take(self.name)]
        for keeper in got:
            keeper.notes.update(notes)
        if len(got) < 2:
            for keeper in got:
                keeper.forget(self.name, notes)
                keeper.release(self.name)
            return False
        self.notes = {}
        for keeper in got:
            self.notes.update(keeper.notes)
        self.heard = {key: self.heard.get(key, self.world.clock.now) for key in self.notes}
        self.world.tell(f"{self.name} has the lease")
        yield self._wait()
        return True

    def renew_lease(self):
        yield self._wait()
        got = [keeper for keeper in self._reachable_keepers() if keeper.renew(self.name)]
        yield self._wait()
        return len(got) >= 2

    def write_notes(self, notes):
        """By majority, and only with a lease that is still running."""
        yield self._wait()
        got = [keeper for keeper in self._reachable_keepers() if keeper.renew(self.name)]
        if self.world.parts.notes:
            for keeper in got:
                keeper.notes.update(notes)
            # What this run was about to do counts for itself, too, as soon as it can't read the host any more.
            self.notes.update(notes)
        yield self._wait()
        return len(got) >= 2

    def release_lease(self):
        yield self._wait()
        for keeper in self._reachable_keepers():
            keeper.release(self.name)

    def _remove_notes(self, roll, readings):
        """Who reads a host and finds it in service removes its notes."""
        drained = {record.host for record in roll.records}
        read = readings.keys() | {host for host in self.kept if host not in self._noted_since(self.kept.keys())}
        fine = {host.name for host in roll.hosts if host.read and host.journal is None and host.name not in drained}
        fine &= read
        gone = [key for key in self.notes if key[0] in fine]
        if not gone:
            return
        yield self._wait()
        for keeper in self._reachable_keepers():
            if keeper.renew(self.name):
                for key in gone:
                    keeper.notes.pop(key, None)

    # -- what it knows

    def read(self, hosts=None):
        """The newest readings of these hosts, of all of its pattern unless told otherwise, and the records."""
        readings = {}
        asked = self.pattern if hosts is None else sorted(hosts)
        for part in (asked[::2], asked[1::2]):
            yield self._wait()
            slow = False
            for host in part:
                if host in self.cut_from or not self.world.hosts[host].up:
                    slow = True
                    continue
                readings[host] = self._reading(host)
            yield 5.0 if slow else self._wait()
        self.seen.update(readings)
        if hosts is not None:
            self.kept = {host: known for host, known in self.kept.items() if host not in hosts} | readings
            return self._roll(readings, self.kept), readings
        self.kept = dict(readings)
        return self._roll(readings), readings

    def _reading(self, host):
        machine = self.world.hosts[host]
        if machine.journal and machine.journal.owner == self.name and machine.journal.until > self.world.clock.now:
            # A run that waits renews it with each reading.
            machine.journal.until = self.world.clock.now + WORKED_ON
        events = tuple(
            (e.id, e.type, e.action, e.status, e.not_before, tuple(e.hosts), e.strangers)
            for e in self.world.azure.document(host)
        )
        journal = copy.deepcopy(machine.journal)
        return Reading(machine.token(), self.world.azure.incarnation, events, journal, self.world.clock.now)

    def _roll(self, readings, kept=None):
        """`kept`: what was read before, of hosts that are not among `readings`."""
        events = {}
        for reading in readings.values():
            for event_id, kind, action, status, not_before, hosts, strangers in reading.events:
                known = events.get(event_id)
                if known and known.started:
                    status = "Started"
                named = tuple(dict.fromkeys((*(known.hosts if known else ()), *hosts)))
                due = None if status == "Started" else not_before
                events[event_id] = model.Event(event_id, kind, status, due, named, strangers, action, GROUP)
        known = {**(kept or {}), **readings}
        for host in self._noted_since(known.keys() - readings.keys()):
            del known[host]
        hosts = tuple(self._host(name, known.get(name)) for name in self.world.hosts)
        records = tuple(
            model.Record("balancer", host, record.events, self._types(record.events), record.run)
            for host, record in self.world.balancer.records.items()
            if self.world.balancer.is_asked
        )
        return model.Roll(
            run=self.name,
            now=self.world.clock.now,
            hosts=hosts,
            events=tuple(events.values()),
            records=records,
            notes=tuple(self.notes.values()) if self.world.parts.notes else (),
            settings=self.settings,
            may_act_on=self.acts_on,
        )

    def _noted_since(self, hosts):
        """Those of whom another run may have written a note after they were read."""
        if not self.world.parts.young_notes_count:
            return set()
        return {
            key[0]
            for key, note in self.notes.items()
            if key[0] in hosts and note.run != self.name and self.heard.get(key, 0.0) >= self.kept[key[0]].at
        }

    def _types(self, events):
        return tuple(self.world.azure.events[event_id].type for event_id in events)

    def _host(self, name, reading):
        seen = reading or self.seen.get(name)
        return model.Host(
            name=name,
            group=GROUP,
            domain=self.world.domain[name] if seen else f"host {name}",
            read=reading is not None,
            shows=tuple(event[0] for event in reading.events) if reading else (),
            named_with={event[0]: event[5] for event in seen.events if name in event[5]} if seen else {},
            booted_at=self.world.hosts[name].booted_at if reading else None,
            journal=self._journal(name, seen.journal) if seen and seen.journal else None,
        )

    def _journal(self, name, journal):
        owner = journal.owner
        if not self.world.parts.worked_on_together and owner != self.name:
            owner = f"{owner} on {name}"
        return model.Journal(
            owner=owner,
            events=journal.events,
            types=self._types(journal.events),
            drained=journal.drained,
            finished=journal.finished,
            returning=journal.returning,
            marks=tuple(
                model.Mark(event_id, hosts, at, self.world.azure.events[event_id].takes_down, self._vanishes(event_id))
                for event_id, (hosts, at) in journal.marks.items()
            ),
            worked_on_until=journal.until,
        )

    def _vanishes(self, event_id):
        return self.world.azure.events[event_id].type == "Preempt"

    # -- what it does

    def life(self):
        self.world.tell(f"{self.name} begins")
        end = self.world.clock.now + self.patience
        if self.batched:
            yield from self._in_batches(end)
        else:
            yield from self._until_nothing_is_left(end)
        self.ended_at = self.world.clock.now
        self.world.tell(f"{self.name} ends")

    def _in_batches(self, end):
        """As a play does it: what is out first, over all hosts; then batch after batch, each decided for itself."""
        while self.world.clock.now < end:
            self.acts_on = frozenset(self.pattern)
            yield from self._decide_once((model.RETURN, model.FORGET))
            roll, _readings = yield from self.read()
            planned = batches.batches(roll)
            if not planned and not decide.what_may_go_down_now(roll):
                return
            for batch in planned:
                self.acts_on = frozenset(batch.hosts)
                self.world.tell(f"{self.name}: batch {batch.hosts}")
                yield from self._rounds_of_a_batch(min(end, self.world.clock.now + BATCH_PATIENCE))
            yield 6.0 + 8.0 * self.random.random()

    def _rounds_of_a_batch(self, end):
        """Only its hosts are read again, with the lease; of the others what was read for the plan is all it has."""
        while self.world.clock.now < end:
            yield from self.point("before lease")
            has_lease = yield from self.take_lease({})
            roll, readings = yield from self.read(self.acts_on)
            moves = decide.what_may_go_down_now(roll)
            self._look_for_the_dead(roll, moves)
            if has_lease:
                yield from self._remove_notes(roll, readings)
            allowed = [move for move in moves if has_lease or not move.needs_lease]
            yield from self._act(allowed, roll, readings)
            if has_lease:
                yield from self.release_lease()
            if not moves or self._gives_way(moves):
                return
            yield 6.0 + 8.0 * self.random.random()

    def _gives_way(self, moves):
        """What is waited for is this run's own to do, in another batch."""
        others = set(self.pattern) - self.acts_on
        waits_for = {name for move in moves if move.kind == model.HOLD for name in move.in_the_way}
        return all(move.kind == model.HOLD for move in moves) and waits_for and waits_for <= others

    def _until_nothing_is_left(self, end):
        while self.world.clock.now < end:
            if not (yield from self._decide_once(model.MOVES)):
                return
            yield 6.0 + 8.0 * self.random.random()

    def _decide_once(self, kinds):
        began = self.world.clock.now
        roll, readings = yield from self.read()
        moves = decide.what_may_go_down_now(roll)
        self._look_for_the_dead(roll, moves)
        allowed = [move for move in moves if move.kind in kinds]
        yield from self._act([move for move in allowed if not move.needs_lease], roll, readings)
        if any(move.needs_lease for move in allowed):
            yield from self.point("before lease")
            self.told = self._notes_of(allowed) if self.quick and self.world.parts.notes else {}
            if (yield from self.take_lease(self.told)):
                if self.told and self.world.clock.now - began < FRESH and not self._others_have_notes():
                    roll = self._roll(readings)
                else:
                    roll, readings = yield from self.read()
                    yield from self._remove_notes(roll, readings)
                now = decide.what_may_go_down_now(roll)
                yield from self._act([move for move in now if move.needs_lease and move.kind in kinds], roll, readings)
                yield from self._forget_what_was_not_drained(now)
                yield from self.release_lease()
            self.told = {}
        return moves

    def _notes_of(self, moves):
        found = {}
        for move in moves:
            if move.needs_lease and move.kind in (model.DRAIN, model.ROUND):
                event_id = move.approve if move.kind == model.ROUND else move.events[0]
                found.update(self._drain_notes(move, event_id))
        return found

    def _drain_notes(self, move, event_id):
        kind = self.world.azure.events[event_id].type
        at = self.world.clock.now
        return {(host, "drain", at): model.Note(host, move.events, kind, self.name, at=at) for host in move.hosts}

    def _others_have_notes(self):
        heeds = self.world.parts.notes_make_a_quick_run_read_again
        return heeds and any(note.run != self.name for note in self.notes.values())

    def _forget_what_was_not_drained(self, moves):
        used = {note.host for note in self._notes_of(moves).values()}
        unused = [key for key in self.told if key[0] not in used]
        if unused:
            yield self._wait()
            for keeper in self._reachable_keepers():
                keeper.forget(self.name, unused)

    def _look_for_the_dead(self, roll, moves):
        for move in moves:
            if move.kind == model.HOLD and "is at work on" in move.why:
                for host in move.hosts:
                    journal = self.world.hosts[host].journal
                    # The hold names the one host that is worked on; the others of its event wait with it.
                    if journal and move.why == f"Run {journal.owner} is at work on {host}":
                        self.world.truth.kept_out(journal.owner, host)

    def _act(self, moves, roll, readings):
        children = []
        for move in moves:
            children += self._children(move, roll, readings)
        if children:
            yield from self._together(children)

    def _children(self, move, roll, readings):
        """Coroutines that run side by side."""
        if move.kind == model.FORGET:
            if self.world.parts.marks_are_taken_over:
                return [self._command(move.hosts[0], "forget", readings)]
        elif move.kind == model.FINISH:
            if move.take_over:
                return [self._command(host, "take_over", readings) for host in move.take_over]
        elif move.kind == model.RETURN:
            return [self._return(host, readings, move.events) for host in move.hosts]
        elif move.kind == model.DRAIN:
            # Not counted: what `proceed` drained, what vanishes, and what was sent already.
            counted = move.needs_lease and self.settings.overlap != "proceed"
            return [self._drain(move, readings, move.events[0], counted)]
        elif move.kind == model.ROUND:
            return [self._round(move, roll, readings)]
        return []

    def _together(self, children):
        states = [False] * len(children)

        def guarded(number, child):
            try:
                yield from child
            except (Refused, Unreachable) as reason:
                self.world.tell(f"{self.name}: {type(reason).__name__} {reason}")
            finally:
                states[number] = True

        for number, child in enumerate(children):
            self.world.clock.start(guarded(number, child), self)
        while not all(states):
            yield 1.0

    def _expected(self, host, readings):
        journal = readings[host].journal
        return journal.owner if journal else None

    def _command(self, host, command, readings):
        yield from self.on_host(host, command, self.name, self._expected(host, readings))

    def _round(self, move, roll, readings):
        hosts = {host.name: host for host in roll.hosts}
        event = _event_of(roll, move.approve)
        ready = all(
            hosts[name].journal is not None
            and decide._is_drained(hosts[name], event)
            and hosts[name].journal.owner == self.name
            for name in move.hosts
        )
        if move.events and not ready:
            yield from self._drain(move, readings, move.approve, counted=True)
            return
        for host in move.take_over:
            yield from self._command(host, "take_over", readings)
        if self.world.parts.one_approval_at_a_time or not move.events:
            yield from self._approve(move.approve, roll)
            return
        for event_id in move.events:
            yield from self._approve(event_id, roll)

    def _drain(self, move, readings, event_id, counted):
        yield from self.point("before notes")
        notes = self._drain_notes(move, event_id)
        told = set(notes.values()) <= set(self.told.values())
        if move.needs_lease and not told and not (yield from self.write_notes(notes)):
            return
        # The host compares with the reading that this was decided from, and not with a newer one.
        yield from self._together([self._drain_host(host, move, readings, event_id, counted) for host in move.hosts])

    def _drain_host(self, host, move, readings, event_id, counted):
        reading = readings[host]
        yield from self.point(f"open {host}")
        expected = self._expected(host, readings)
        args = (self.name, reading.token, reading.incarnation, expected, move.events, event_id)
        done = yield from self.on_host(host, "open", *args)
        yield from self.point(f"opened {host}")
        self.first_acts.append((self.world.clock.now, host))
        if self.world.parts.new_event_is_written_first or "balancer" not in done:
            yield from self.on_balancer("write", host, self.name, move.events)
        yield from self.point(f"recorded {host}")
        if self.world.parts.deeds_in_two_commands:
            yield from self.on_host(host, "renew", self.name)
        yield from self.point(f"off {host}")
        if "balancer" not in done:
            yield from self.on_balancer("off", host, self.name, move.events, counted)
            yield from self.on_host(host, "step_done", self.name, "balancer")
        yield from self.point(f"service {host}")
        if "service" not in done:
            yield from self._stop_service(host)
        yield from self.point(f"drained {host}")

    def _stop_service(self, host):
        """A long step is a command on the host, which goes on by itself as long as the connection lives."""
        outcome = {}
        yield self._wait()
        self.world.clock.start(self._service_step(host, self.drain_takes.get(host, 10.0), outcome))
        while not outcome:
            yield 1.0
            if not self.is_connected(host):
                raise Unreachable(host)
        if "refused" in outcome:
            raise Refused(outcome["refused"])

    def _service_step(self, host, seconds, outcome):
        machine = self.world.hosts[host]
        boot, end = machine.boot, self.world.clock.now + seconds
        while self.world.clock.now < end:
            lost = not self.is_connected(host) and self.world.parts.renewed_only_while_connected
            if lost or machine.boot != boot or not machine.up:
                outcome["refused"] = "connection lost"
                return
            try:
                machine.renew(self.name)
            except Refused as reason:
                outcome["refused"] = str(reason)
                return
            yield min(10.0, end - self.world.clock.now)
        try:
            machine.stop_service(self.name)
            machine.step_done(self.name, "service")
            outcome["done"] = True
        except Refused as reason:
            outcome["refused"] = str(reason)

    def _return(self, host, readings, events):
        yield from self.point(f"return {host}")
        yield from self.on_host(host, "begin_return", self.name, self._expected(host, readings), events)
        yield from self.point(f"returning {host}")
        yield from self.on_host(host, "start_service", self.name)
        if host in self.world.balancer.records:
            yield from self.on_balancer("write", host, self.name, None)
            yield from self.on_host(host, "renew", self.name)
            yield from self.on_balancer("on", host, self.name)
        yield from self.point(f"in rotation {host}")
        yield from self.on_host(host, "close", self.name)

    def _approve(self, event_id, roll):
        if not self._verdict(event_id, roll):
            return
        event = _event_of(roll, event_id)
        now = self.world.clock.now
        mark = model.Mark(event_id, event.hosts, now, event.takes_down, event.vanishing)
        notes = {
            (host, "approve", now): model.Note(host, (event_id,), event.type, self.name, mark, at=now)
            for host in event.hosts
        }
        if not (yield from self.write_notes(notes)):
            return
        # From the newest readings of the whole group.
        roll, readings = yield from self.read()
        if not self._verdict(event_id, roll):
            return
        event = _event_of(roll, event_id)
        if not (yield from self.renew_lease()):
            return
        yield from self.point(f"before marks {event_id}")
        sender, *others = event.hosts
        marked = []
        try:
            for host in others:
                if (yield from self.on_host(host, "mark", *self._mark(host, readings, event))):
                    marked.append(host)
                yield from self.point(f"marked {host}")
            yield from self._send(sender, readings, event)
        except (Refused, Unreachable) as reason:
            self.world.tell(f"{self.name}: {event_id} not sent from {sender}: {reason}")
            # Who knows that nothing was sent takes the marks back; who only lost contact knows nothing.
            if self.world.parts.sent_again and isinstance(reason, Refused):
                for host in marked:
                    yield from self.on_host(host, "unmark", self.name, event_id)
        yield from self.point(f"sent {event_id}")

    def _mark(self, host, readings, event):
        reading = readings[host]
        return self.name, reading.token, reading.incarnation, event.id, event.hosts, event.action == "drain"

    def _send(self, sender, readings, event):
        """The sender's own mark stands in the same command as the POST."""
        yield from self.point(f"send {event.id}")
        outcome = {}
        yield self._wait()
        if not self.is_connected(sender):
            yield 5.0
            raise Unreachable(sender)
        new = self.world.hosts[sender].mark(*self._mark(sender, readings, event))
        self.world.tell(f"{self.name}: mark and send {event.id} on {sender}")
        self.world.clock.start(self._post(sender, event.id, outcome, new))
        while not outcome:
            yield 1.0
            if not self.is_connected(sender):
                raise Unreachable(sender)
        if "refused" in outcome:
            raise Refused(outcome["refused"])

    def _post(self, sender, event_id, outcome, new):
        machine, boot, arrived = self.world.hosts[sender], self.world.hosts[sender].boot, self.world.clock.now
        incarnation = self.world.azure.incarnation
        slow = self.world.accidents.pop((self.name, f"post {event_id}"), None)
        yield slow[1] if slow else 0.3 if self.random.random() < 0.9 else 25.0 * self.random.random()
        if not machine.up or machine.boot != boot:
            return
        try:
            if self.world.parts.host_is_the_fence and incarnation != self.world.azure.incarnation:
                if new:
                    machine.unmark(self.name, event_id)
                raise Refused("the document has changed")
            machine.send(self.name, event_id, arrived, new)
            self.world.tell(f"{self.name}: POST {event_id} from {sender}")
            outcome["sent"] = True
        except Refused as reason:
            outcome["refused"] = str(reason)

    def _verdict(self, event_id, roll):
        if not self.world.parts.one_approval_at_a_time:
            roll = dataclasses.replace(roll, events=tuple(e for e in roll.events if e.id == event_id))
        verdict = decide.may_approve_now(event_id, roll)
        if not verdict.allowed:
            self.world.tell(f"{self.name}: {event_id} not approved: {verdict.why}")
        return verdict.allowed


def _event_of(roll, event_id):
    return {event.id: event for event in roll.events}[event_id]
