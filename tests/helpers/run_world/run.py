# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run of a run: reads, decides with the real decide.py, and does what it was told, as the protocol says it."""

from __future__ import annotations

import dataclasses
import random

from ansible_collections.maintenance.azure.plugins.plugin_utils._run import model as _model
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import round as _round
from ansible_collections.maintenance.azure.plugins.plugin_utils._run import rules as _rules

from . import batches
from .lease import Quorum
from .machines import WORKED_ON, Refused
from .readings import Known, read_host

BATCH_PATIENCE = 600.0
# A reading that is no older, and between which and the lease nobody came, need not be made again.
FRESH = 5.0
# How long a run waits for a machine that can't be reached, and for one that takes a command and never answers.
NO_WAY = 5.0
NO_ANSWER = 12.0


class Unreachable(Exception):
    pass


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
        self.settings = settings or _model.Settings(drain_timeout=60.0, reserve=20.0)
        if not world.parts.sent_again:
            self.settings = dataclasses.replace(self.settings, resend_after=float("inf"))
        self.drain_takes = drain_takes or {}
        self.latency = latency
        self.batched = batched
        # It asks for the lease right after the plan, and reads again only where somebody may have come between.
        self.quick = quick
        self.acts_on = frozenset(hosts)
        self.random = random.Random(f"{world.random.random()} {name}")
        self.killed_at = None
        self.stopped_until = float("-inf")
        self.cut_from = set()
        self.known = Known(world, name, hosts)
        self.ended_at = None
        self.notes = {}  # group -> the notes that its lock hosts had last
        self.quorums = {group: Quorum(world.parts) for group in world.lock_hosts}
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
        return alive and not self._lost_at(host)

    def _lost_at(self, name):
        """The seconds that are lost with this machine, which may be a lock host alone; 0 if it answers."""
        machine = self.world.hosts.get(name)
        if name in self.cut_from or (machine and not machine.up):
            return NO_WAY
        return NO_ANSWER if machine and machine.hangs else 0.0

    # -- the ways to machines

    def _wait(self):
        return self.latency * (0.5 + self.random.random())

    def on_host(self, host, command, *args):
        yield self._wait()
        if lost := self._lost_at(host):
            if self.world.hosts[host].hangs and self.world.hosts[host].up and self.random.random() < 0.5:
                # It may do all the same what it was told.
                self.world.clock.start(self._done_late(host, command, args), after=lost * self.random.random())
            yield lost
            raise Unreachable(host)
        result = self._result(host, command, args)
        self.world.tell(f"{self.name}: {command} {host} {args[-2:] if args else ''}")
        yield self._wait()
        if lost := self._lost_at(host):
            yield lost
            raise Unreachable(host)
        return result

    def _result(self, host, command, args):
        try:
            return getattr(self.world.hosts[host], command)(*args)
        except Refused:
            if host not in self.world.lies:
                raise
            # A liar has done all that it was told.
            return {"balancer", "service"} if command == "open" else True

    def _done_late(self, host, command, args):
        try:
            getattr(self.world.hosts[host], command)(*args)
            self.world.tell(f"{self.name}: {command} {host}, which hangs")
        except Refused:
            pass
        return
        yield

    def on_balancer(self, command, *args):
        yield self._wait()
        result = getattr(self.world.balancer, command)(*args)
        self.world.tell(f"{self.name}: balancer {command} {args}")
        yield self._wait()
        return result

    # -- the lease of a group

    def _members(self, group):
        return {host for host, its in self.world.group.items() if its == group}

    def _ask(self, group, command, *args):
        """Lock host -> what it answers to this."""
        answers, lost = {}, [0.0]
        for lock_host in self.world.lock_hosts[group]:
            # Each gets it at a time of its own.
            yield self._wait() / 4
            lost.append(self._lost_at(lock_host.name))
            if not lost[-1]:
                answers[lock_host.name] = getattr(lock_host, command)(self.name, *args)
        yield max(lost) or self._wait()
        return answers

    def take_lease(self, group):
        yield self._wait()
        answers = yield from self._ask(group, "take", ())
        if not self.quorums[group].holds(answers, self.world.clock.now):
            got = [name for name, answer in answers.items() if answer.held]
            for lock_host in self.world.lock_hosts[group]:
                if lock_host.name in got and not self._lost_at(lock_host.name):
                    lock_host.release(self.name)
            return False
        self.notes[group] = self.quorums[group].notes(answers, self._members(group))
        self.world.tell(f"{self.name} has the lease of {group} from {[n for n, a in answers.items() if a.held]}")
        return True

    def take_leases(self, groups):
        """Those that it gets. A group that has no lease waits, and no other one."""
        held = set()
        for group in sorted(groups):
            if (yield from self.take_lease(group)):
                held.add(group)
        return held

    def renew_lease(self, group, notes=(), forget=()):
        yield self._wait()
        answers = yield from self._ask(group, "renew", notes if self.world.parts.notes else (), forget)
        return self.quorums[group].holds(answers, self.world.clock.now)

    def write_notes(self, group, notes):
        """By majority, and only with a lease that is still running."""
        held = yield from self.renew_lease(group, notes)
        # What this run was about to do counts for itself, too, as soon as it can't read the host any more.
        self.notes[group] = [*self.notes.get(group, ()), *notes]
        return held

    def release_leases(self, groups):
        yield self._wait()
        for group in groups:
            for lock_host in self.world.lock_hosts[group]:
                if not self._lost_at(lock_host.name):
                    lock_host.release(self.name)

    def _remove_notes(self, groups, fresh):
        """Who reads a host and finds it in service removes its notes, as the product does it; its own as well."""
        for group in sorted(groups):
            records = [{"host": host} for host in self.world.balancer.records]
            read = {host: self.known.kept[host] for host in fresh}
            known = {"run_id": "", "records": records}
            if gone := _round._settled_notes(known, self.notes[group], read):
                yield from self.renew_lease(group, (), gone)

    # -- what it knows

    def read(self, hosts=None, leases=()):
        """The newest readings of these hosts, of all of its pattern unless told otherwise, and the records.

        Under the lease also of every host that another run has left a note about.
        """
        readings = {}
        asked = self.pattern if hosts is None else sorted(hosts)
        asked = [*asked, *sorted(self._noted(leases) - set(asked))]
        for part in (asked[::2], asked[1::2]):
            yield self._wait()
            slow = max(map(self._lost_at, part), default=0.0)
            for host in part:
                if not self._lost_at(host):
                    readings[host] = self._reading(host)
            yield slow or self._wait()
        self.known.take_up(asked, readings)
        return self._run(asked), readings

    def _noted(self, leases):
        if not self.world.parts.noted_hosts_are_read:
            return set()
        noted = {note["host"] for group in leases for note in self.notes[group] if note["run"] != self.name}
        # History 14: what was read for another batch is taken for what is so now.
        return noted if self.world.parts.young_notes_count else noted - self.known.read_before()

    def _reading(self, host):
        machine = self.world.hosts[host]
        if machine.journal and machine.journal.owner == self.name and machine.journal.until > self.world.clock.now:
            # A run that waits renews it with each reading.
            machine.journal.until = self.world.clock.now + WORKED_ON
        return read_host(self.world, host, self.name)

    def _run(self, fresh):
        notes = [note for notes in self.notes.values() for note in notes] if self.world.parts.notes else []
        if not self.world.parts.noted_hosts_are_read:
            # L1: what could be read is taken for what was read.
            notes = [note for note in notes if note["host"] in fresh or self._lost_at(note["host"])]
        if not self.world.parts.young_notes_count:
            fresh = self.known.kept
        run = self.known.model(self.acts_on, fresh, self.settings, notes)
        if not self.world.parts.a_mark_counts_by_the_own_account:
            run = dataclasses.replace(run, hosts=tuple(_named_by_anybody(host, run) for host in run.hosts))
        return run

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
            yield from self._decide_once((_model.RETURN, _model.FORGET))
            run, _readings = yield from self.read()
            planned = batches.batches(run)
            if not planned and not _rules.what_may_go_down_now(run):
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
            held = yield from self.take_leases({self.world.group[host] for host in self.acts_on})
            run, readings = yield from self.read(self.acts_on, held)
            moves = self._moves(run)
            yield from self._remove_notes(held, readings)
            allowed = [move for move in moves if move.group in held or not move.needs_lease]
            yield from self._act(allowed, run, readings)
            if held:
                yield from self.release_leases(held)
            if not moves or self._gives_way(moves):
                return
            yield 6.0 + 8.0 * self.random.random()

    def _gives_way(self, moves):
        """What is waited for is this run's own to do, in another batch."""
        others = set(self.pattern) - self.acts_on
        waits_for = {name for move in moves if move.kind == _model.HOLD for name in move.in_the_way}
        return all(move.kind == _model.HOLD for move in moves) and waits_for and waits_for <= others

    def _until_nothing_is_left(self, end):
        while self.world.clock.now < end:
            if not (yield from self._decide_once(_model.MOVES)):
                return
            yield 6.0 + 8.0 * self.random.random()

    def _decide_once(self, kinds):
        began = self.world.clock.now
        run, readings = yield from self.read()
        moves = self._moves(run)
        allowed = [move for move in moves if move.kind in kinds]
        yield from self._act([move for move in allowed if not move.needs_lease], run, readings)
        groups = {move.group for move in allowed if move.needs_lease}
        if groups:
            yield from self.point("before lease")
            held = yield from self.take_leases(groups)
            if held:
                if self.quick and self.world.clock.now - began < FRESH and not self._others_have_notes(held):
                    run = self._run(self.pattern)
                else:
                    run, readings = yield from self.read(leases=held)
                    yield from self._remove_notes(held, readings)
                now = [move for move in self._moves(run) if move.needs_lease and move.group in held]
                yield from self._act([move for move in now if move.kind in kinds], run, readings)
                yield from self.release_leases(held)
        return moves

    def _moves(self, run):
        moves = _rules.what_may_go_down_now(run)
        self._look_for_the_dead(moves)
        if not self.world.parts.sent_events_need_the_lease:
            moves = (*_drained_at_once(run), *moves)
        return moves

    def _drain_notes(self, move, event_id):
        note = {"events": list(move.events), "type": self.world.azure.type_of(event_id), "run": self.name, "mark": None}
        return [{**note, "host": host, "at": self.world.clock.now} for host in move.hosts]

    def _others_have_notes(self, groups):
        heeds = self.world.parts.notes_make_a_quick_run_read_again
        return heeds and any(note["run"] != self.name for group in groups for note in self.notes[group])

    def _look_for_the_dead(self, moves):
        for move in moves:
            if move.kind == _model.HOLD and "is at work on" in move.why:
                for host in move.hosts if not self.world.has_liar(move.group) else ():
                    journal = self.world.hosts[host].journal
                    # The hold names the one host that is worked on; the others of its event wait with it.
                    if journal and move.why == f"Run {journal.owner} is at work on {host}":
                        self.world.truth.kept_out(journal.owner, host)

    def _act(self, moves, run, readings):
        children = []
        for move in moves:
            children += self._children(move, run, readings)
        if children:
            yield from self._together(children)

    def _children(self, move, run, readings):
        """Coroutines that run side by side."""
        if move.kind == _model.FORGET:
            if self.world.parts.marks_are_taken_over:
                return [self._command(move.hosts[0], "forget", readings)]
        elif move.kind == _model.FINISH:
            if move.take_over:
                return [self._command(host, "take_over", readings) for host in move.take_over]
        elif move.kind == _model.RETURN:
            return [self._return(host, readings, move.events) for host in move.hosts]
        elif move.kind == _model.DRAIN:
            # Not counted: what `proceed` drained, and what is taken away.
            taken_away = any(self.world.azure.type_of(event) == "Preempt" for event in move.events)
            counted = (move.needs_lease or not taken_away) and self.settings.overlap != "proceed"
            return [self._drain(move, readings, move.events[0], counted)]
        elif move.kind == _model.ROUND:
            return [self._round(move, run, readings)]
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
        return readings[host].owner

    def _command(self, host, command, readings):
        yield from self.on_host(host, command, self.name, self._expected(host, readings))

    def _round(self, move, run, readings):
        hosts = {host.name: host for host in run.hosts}
        event = _event_of(run, move.approve, move.group)
        ready = all(
            hosts[name].journal is not None
            and _rules._is_drained(hosts[name], event)
            and hosts[name].journal.owner == self.name
            for name in move.hosts
        )
        if move.events and not ready:
            yield from self._drain(move, readings, move.approve, counted=True)
            return
        for host in move.take_over:
            yield from self._command(host, "take_over", readings)
        if self.world.parts.one_approval_at_a_time or not move.events:
            yield from self._approve(move.approve, move.group, run)
            return
        for event_id in move.events:
            yield from self._approve(event_id, move.group, run)

    def _drain(self, move, readings, event_id, counted):
        yield from self.point("before notes")
        notes = self._drain_notes(move, event_id)
        if move.needs_lease and not (yield from self.write_notes(move.group, notes)):
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
        if self.world.parts.actions_in_two_commands:
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

    def _approve(self, event_id, group, run):
        if not self._verdict(event_id, group, run):
            return
        event = _event_of(run, event_id, group)
        now = self.world.clock.now
        mark = self.world.azure.mark(event_id, event.hosts, now)
        note = {"events": [event_id], "type": event.type, "run": self.name, "at": now, "mark": mark}
        if not (yield from self.write_notes(group, [{**note, "host": host} for host in event.hosts])):
            return
        # From the newest readings of the whole group.
        run, readings = yield from self.read(leases=[group])
        if not self._verdict(event_id, group, run):
            return
        event = _event_of(run, event_id, group)
        if not (yield from self.renew_lease(group)):
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
        incarnation = self.world.azure.incarnation_for(sender)
        slow = self.world.accidents.pop((self.name, f"post {event_id}"), None)
        yield slow[1] if slow else 0.3 if self.random.random() < 0.9 else 25.0 * self.random.random()
        if not machine.up or machine.boot != boot:
            return
        try:
            if self.world.parts.host_is_the_fence and incarnation != self.world.azure.incarnation_for(sender):
                if new:
                    machine.unmark(self.name, event_id)
                raise Refused("the document has changed")
            machine.send(self.name, event_id, arrived, new)
            self.world.tell(f"{self.name}: POST {event_id} from {sender}")
            outcome["sent"] = True
        except Refused as reason:
            outcome["refused"] = str(reason)

    def _verdict(self, event_id, group, run):
        if not self.world.parts.one_approval_at_a_time:
            run = dataclasses.replace(run, events=tuple(e for e in run.events if e.id == event_id))
        verdict = _rules.may_approve_now(event_id, run, self._members(group))
        if not verdict.allowed:
            self.world.tell(f"{self.name}: {event_id} not approved: {verdict.why}")
        return verdict.allowed


def _event_of(run, event_id, group):
    return next(event for event in run.events if (event.id, event.group) == (event_id, group))


def _named_by_anybody(host, run):
    """What L3 is about: an account of the event makes its maker one of the VMs that it names, for everybody."""
    others = [other for other in run.hosts if other.group == host.group and other is not host]
    named = {
        event: tuple(dict.fromkeys((*names, *(other.name for other in others if event in other.named_with))))
        for event, names in host.named_with.items()
    }
    return dataclasses.replace(host, named_with=named)


def _drained_at_once(run):
    """What L4 is about: a host of a sent event that is drained without the lease and rule 1."""
    for state in _rules.group_states(run):
        for event in state.events:
            hosts = [
                host.name
                for host in state.actable
                if state.is_sent_for(host, event)
                and event.action == "drain"
                and not _rules._is_drained(host, event)
                and not state.is_worked_on(host)
            ]
            if hosts:
                yield _model.Move(_model.DRAIN, state.name, tuple(hosts), (event.id,))
