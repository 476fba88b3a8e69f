# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One sender for each event, and the approval sent."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .._azure import events as azure
from .._azure.vms import EventData
from .._common import text
from .._common.store import Occupied, Store, digest
from .._host.service import DocumentReading, RefusedByHost, Service, Unanswered
from . import judge
from .judge import EventRecord, Judgement

# The hosts of a batch are separate processes on one controller, and with few forks not at the same time. So nobody
# waits for a host that has not begun: the first that comes to an event leads, and what it did is kept in files in
# the run's own temporary folder, which Ansible removes when the run ends.

# No event has an empty id.
ANY_EVENT = ""


class Election:
    """The records of one run; a prediction (check mode) has records of its own."""

    def __init__(self, run_folder: str | Path, prediction: bool) -> None:
        self.run_folder = run_folder
        self.purpose = "approvals-predicted" if prediction else "approvals"
        self.store = Store(run_folder, self.purpose)

    @contextlib.contextmanager
    def turn(self, event_ids: Sequence[str], seconds: float) -> Iterator[dict[str, EventRecord]]:
        """Have these events for ourselves; changes to the records are kept when the block ends.

        Who waits does so for as long as others get on with it: each that gives way leaves a mark. Raises Occupied.
        """
        began = time.time()
        with contextlib.ExitStack() as locks:
            # Always in the same order, so that two hosts with two events never wait for each other.
            for event_id in sorted(set(map(azure.canonical_id, event_ids))):
                patience = functools.partial(self._patience, event_id, began, seconds)
                locks.enter_context(self.store.locked(event_id, until=patience))
            records = {azure.canonical_id(event_id): self.record(event_id) for event_id in event_ids}
            try:
                yield records
            finally:
                self.keep(records)

    def keep(self, records: dict[str, EventRecord]) -> None:
        """Write records down at once, for the case that this process does not live to see its turn end."""
        for event_id, record in records.items():
            self.store.write(dataclasses.asdict(record), azure.canonical_id(event_id))

    def record(self, event_id: str) -> EventRecord:
        return EventRecord(**(self.store.read(azure.canonical_id(event_id)) or {}))

    def not_sent(self, marks: Iterable[Mapping[str, t.Any]]) -> list[Mapping[str, t.Any]]:
        """Those whose approval no host of this run has sent, or may have sent: it can't be taken back."""
        records = [(mark, self.record(mark["event"])) for mark in marks]
        return [mark for mark, record in records if not record.sent_by and not record.unclear]

    def mark_done(self, task: str, host: str, event_ids: Iterable[str] | None) -> None:
        """This host's task has ended: nobody is to count on it for these events, or for any where None are known."""
        for event_id in [ANY_EVENT] if event_ids is None else event_ids:
            self._done(task, event_id).write(host, host)

    def done(self, task: str, event_id: str) -> list[str]:
        return [*self._done(task, ANY_EVENT).values(), *self._done(task, event_id).values()]

    def _done(self, task: str, event_id: str) -> Store:
        return Store(self.run_folder, f"{self.purpose}-done-{digest(task, azure.canonical_id(event_id))}")

    def _patience(self, event_id: str, began: float, seconds: float) -> float:
        return max(began, self.store.changed_at(event_id)) + seconds


# An approval whose answer was lost shows in the document soon, if it arrived.
SECONDS_TO_SETTLE = 10
# Who is turned away so often lets another host try, if there is one: they wait for us meanwhile.
TRIES_BEFORE_GIVING_WAY = 2
SECONDS_BETWEEN_READINGS = 1.0
# The host that is to send is begun with first, but all may be on their way at the same time.
SECONDS_TO_LET_THE_FIRST_GO_FIRST = 20.0
SECONDS_BETWEEN_LOOKS = 0.05
# What a run has decided on is no longer so.
CHANGED = "changed"


@dataclasses.dataclass
class Approval:
    """What became of the events that one host was asked to approve; lists hold ids as Azure writes them."""

    approved: list[str] = dataclasses.field(default_factory=list)
    already_started: list[str] = dataclasses.field(default_factory=list)
    gone: list[str] = dataclasses.field(default_factory=list)
    refused: list[dict[str, t.Any]] = dataclasses.field(default_factory=list)
    leaders: dict[str, str] = dataclasses.field(default_factory=dict)
    # Event id -> when it was approved, of those that this host approved.
    times: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    left_to: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    problems: list[str] = dataclasses.field(default_factory=list)
    # In a run: why the host, which is the fence, did nothing.
    refused_by_host: str | None = None


@dataclasses.dataclass
class Approver:
    service: Service
    election: Election
    # The inventory host whose VM talks to the service.
    sender: str
    # A name of this task, the same on all hosts that run it.
    task: str
    wanted: Sequence[str] | None
    # Names of the VMs that are ready to be interrupted; asked for only with the reading that it depends on.
    drained: Callable[[DocumentReading], Iterable[str]]
    # VM names of the other hosts that run this task; asked for only if one of them has to step in.
    others: Callable[[], dict[str, str]]
    timeout: float
    # For each event, the VMs of drained hosts that do not show it themselves.
    not_shown: Callable[[DocumentReading], dict[str, list[str]]] = lambda _reading: {}
    # Why hosts are not trusted to be the VMs that they say they are.
    doubts: Callable[[DocumentReading], judge.Doubts | None] = lambda _reading: None
    # For each event, the hosts that it names and whose journals do not say that its approval begins.
    unmarked: Callable[[], dict[str, list[str]]] = dict
    # In a run: what was read and decided on already, and for each event the host that is to send.
    decided_on: DocumentReading | None = None
    first_sender: Mapping[str, str] = dataclasses.field(default_factory=dict)
    in_a_run: bool = False
    # In a run: for each event, when it was decided to approve it, by the controller's clock.
    decided_at: Mapping[str, float] = dataclasses.field(default_factory=dict)
    allow_uncovered: bool = False
    insist: bool = False
    predict_only: bool = False
    mind_lost_answers: bool = True
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    reading: DocumentReading = dataclasses.field(init=False)
    # What the policy has seen.
    decided: DocumentReading = dataclasses.field(init=False)
    # Tries after which an approval was not there, and what the service said to the last of them.
    fruitless: int = 0
    last_problem: str = ""
    # One of several approvals that are sent together may spoil all of them.
    one_at_a_time: bool = False
    # Event id -> what went wrong for good with its approval from here.
    problems: dict[str, str] = dataclasses.field(default_factory=dict)
    refused_by_host: str | None = None

    def run(self) -> Approval:
        ours: list[str] | None = None
        try:
            self.decided = self.reading = self.decided_on or self.service.read()
            ours = self._ours()
            return self._run()
        finally:
            self.election.mark_done(self.task, self.sender, ours)

    def _ours(self) -> list[str]:
        if self.wanted is not None:
            return list(self.wanted)
        return [event["id"] for event in self.reading.status["events"] if azure.names_host(event, self.reading.vm_name)]

    def _run(self) -> Approval:
        judgement = self._judge(self.wanted)
        approval = Approval()
        if judgement.approvable:
            asked = self.wanted
            if asked is None:
                # From here on the same events are followed, whatever else comes up.
                asked = [event["id"] for event in judgement.approvable] + judgement.already_started
                asked += [refusal["id"] for refusal in judgement.refused]
            judgement = self._take_turn(judgement, asked, approval)
        sent = set(map(azure.canonical_id, approval.approved))
        approval.already_started = [i for i in judgement.already_started if azure.canonical_id(i) not in sent]
        approval.gone = [i for i in judgement.gone if azure.canonical_id(i) not in sent]
        approval.refused = judgement.refused
        approval.refused_by_host = self.refused_by_host
        for event_id in (*approval.already_started, *approval.gone):
            record = self.election.record(event_id)
            # One that has begun while somebody was sending its approval was approved by him, as when an answer is lost.
            sender = record.sent_by or record.unclear
            if sender:
                approval.leaders[event_id] = sender
        return approval

    def _judge(self, wanted: Sequence[str] | None) -> Judgement:
        return judge.judge_events(
            self.reading.status["events"],
            wanted,
            self.reading.vm_name,
            [] if self.allow_uncovered else self.drained(self.reading),
            self.allow_uncovered,
            {} if self.allow_uncovered else self.not_shown(self.reading),
            self.unmarked(),
            self.doubts(self.reading),
        )

    def _take_turn(self, judgement: Judgement, asked: Sequence[str], approval: Approval) -> Judgement:
        events = {azure.canonical_id(event["id"]): event for event in judgement.approvable}
        self._let_the_first_go_first(events)
        try:
            with self.election.turn(list(events), self.timeout) as records:
                self._forget_what_was_in_vain(records)
                judgement = self._send_what_is_ours(judgement, asked, records, approval)
                for event_id, record in records.items():
                    if record.sent_by:
                        approval.leaders[events[event_id]["id"]] = record.sent_by
                    elif event_id in self.problems and self.sender in record.failed:
                        self._leave_to_others(events[event_id], record, self.problems[event_id], approval)
        except Occupied:
            names = ", ".join(event["id"] for event in events.values())
            approval.problems.append(
                f"another host of this run has been at work on {names} for more than {self.timeout} s,"
                " so it was not approved from here"
            )
        return judgement

    def _forget_what_was_in_vain(self, records: dict[str, EventRecord]) -> None:
        """What was decided on after an approval was sent is to be sent again: that one has shown no effect."""
        for event_id, record in records.items():
            if record.sent_at is not None and self.decided_at.get(event_id, record.sent_at) > record.sent_at:
                record.sent_by, record.sent_at, record.failed = None, None, []

    def _let_the_first_go_first(self, event_ids: Iterable[str]) -> None:
        """In a run it is said before who is to send, as it saves a request: who sends need not be asked before."""
        ends = self.clock() + SECONDS_TO_LET_THE_FIRST_GO_FIRST
        for event_id in event_ids:
            first = self.first_sender.get(event_id, self.sender)
            while first not in (self.sender, *self.election.done(self.task, event_id)) and self.clock() < ends:
                self.sleep(SECONDS_BETWEEN_LOOKS)

    def _send_what_is_ours(
        self, judgement: Judgement, asked: Sequence[str], records: dict[str, EventRecord], approval: Approval
    ) -> Judgement:
        """Send until nothing is left for us to send. Returns the newest judgement."""
        deadline = self.clock() + self.timeout
        while True:
            ours = [event for event in judgement.approvable if self._is_ours(event, records)]
            if not ours:
                return judgement
            if self.one_at_a_time:
                ours = ours[:1]
            own = {event["id"]: records[azure.canonical_id(event["id"])] for event in ours}
            problem = self._step(own, deadline)
            sent = [i for i, record in own.items() if record.sent_by == self.sender]
            approval.approved += sent
            approval.times.update((i, {"approved_at": text.iso_time(time.time())}) for i in sent)
            # Whatever was sent or not: the newest document is judged, not the one that the plan was made from.
            judgement = self._judge(asked)
            if not problem and any(record.sent_by is None for record in own.values()):
                if self.clock() >= deadline:
                    problem = self._give_up(own, f"No clear answer within the timeout of {self.timeout} s.")
                elif self.fruitless >= TRIES_BEFORE_GIVING_WAY and self._others_can(ours, records):
                    problem = self._give_up(own, self.last_problem)
            if problem:
                self.problems.update((azure.canonical_id(event_id), problem) for event_id in own)

    def _others_can(self, events: Iterable[EventData], records: dict[str, EventRecord]) -> bool:
        return all(self._successors(event, records[azure.canonical_id(event["id"])]) for event in events)

    def _is_ours(self, event: EventData, records: dict[str, EventRecord]) -> bool:
        record = records.get(azure.canonical_id(event["id"]))
        if record is None or azure.canonical_id(event["id"]) in self.problems:
            return False
        return judge.sender_of(record, self.sender, self.insist) == self.sender != record.sent_by

    def _step(self, own: dict[str, EventRecord], deadline: float) -> str:
        """One step towards having all of these sent. Returns what went wrong for good."""
        if self.predict_only:
            _note_sent(own, self.sender)
            return ""
        if any(record.unclear for record in own.values()):
            return self._settle(own, deadline)
        return self._send(own)

    def _send(self, own: dict[str, EventRecord]) -> str:
        changed = _changes(self.decided, self.reading, own) if self.in_a_run else []
        if changed:
            # The policy may decide otherwise by now.
            self.refused_by_host = CHANGED
            return self._give_up(own, f"Since it was decided what to do about it, {'; '.join(changed)}.")
        for record in own.values():
            # Should this process or the connection die now, the next host must not take it for "nothing was sent".
            record.unclear = self.sender
        self.election.keep(own)
        try:
            answer = self.service.approve(self.reading, list(own))
        except Unanswered as failure:
            # The reading right before it failed, so nothing was sent.
            _forget_unclear(own)
            return self._give_up(own, str(failure))
        except RefusedByHost as refusal:
            _forget_unclear(own)
            self.refused_by_host = refusal.word
            return self._give_up(own, str(refusal))
        before, self.reading = self.reading, answer.reading
        self.last_problem = answer.problem or self.last_problem
        if answer.sent or (answer.unclear and not self.mind_lost_answers):
            _note_sent(own, self.sender)
        elif not answer.unclear:
            _forget_unclear(own)
            if answer.problem and len(own) > 1:
                # One of them may be over, and the service then takes none: each for itself.
                self.one_at_a_time = True
                return ""
            if answer.problem:
                return self._give_up(own, answer.problem)
            if self.in_a_run and (started := _newly_started(before, self.reading)):
                # What may go down was decided without it.
                self.refused_by_host = CHANGED
                return self._give_up(own, f"{', '.join(started)} has started since it was decided what may go down.")
            # The document is another one. Many hosts of a group may be approving: do not ask in a hurry.
            self.sleep(SECONDS_BETWEEN_READINGS)
        return ""

    def _give_up(self, own: dict[str, EventRecord], problem: str) -> str:
        for record in own.values():
            if record.sent_by is None:
                record.failed.append(self.sender)
        return problem

    def _settle(self, own: dict[str, EventRecord], deadline: float) -> str:
        """Find out by reading whether an approval arrived whose answer was lost. Returns why that can't be done."""
        # Well before the others, who wait as long as we may try, lose their patience.
        ends = min(deadline, self.clock() + min(SECONDS_TO_SETTLE, max(SECONDS_TO_SETTLE / 2, self.timeout / 6)))
        trouble = ""
        while True:
            try:
                self.reading = self.service.read(max(1.0, ends - self.clock()))
                trouble = ""
            except Unanswered as failure:
                trouble = str(failure)
            for event_id, record in own.items():
                if not trouble and record.unclear and self._has_begun(event_id):
                    record.sent_by, record.unclear = record.unclear, None
            if not any(record.unclear for record in own.values()):
                return ""
            if self.clock() >= ends:
                break
            self.sleep(SECONDS_BETWEEN_READINGS)
        if trouble:
            # It stays unclear, and the next host has to find out.
            return self._give_up(own, f"Whether an approval arrived could not be found out. {trouble}")
        # Still Scheduled: sending again does no harm, the service takes an approval twice.
        if any(record.unclear == self.sender for record in own.values()):
            # A try of the host before us does not make us give way any earlier.
            self.fruitless += 1
        _forget_unclear(own)
        return ""

    def _has_begun(self, event_id: str) -> bool:
        return judge.shown_status(event_id, self.reading.status["events"]) != "Scheduled"

    def _leave_to_others(self, event: EventData, record: EventRecord, problem: str, approval: Approval) -> None:
        others = self._successors(event, record)
        if others:
            approval.left_to[event["id"]] = others
        else:
            approval.problems.append(f"{event['type']} {event['id']} could not be approved. {problem}")

    def _successors(self, event: EventData, record: EventRecord) -> list[str]:
        return judge.successors(event, self.sender, self.others(), record, self.election.done(self.task, event["id"]))


def _changes(before: DocumentReading, now: DocumentReading, own: Iterable[str]) -> list[str]:
    """How these events differ in what policies look at, in words."""
    known = {azure.canonical_id(event["id"]): event for event in before.status["events"]}
    wanted = {azure.canonical_id(event_id) for event_id in own} & set(known)
    return [
        f"{key} of {event['id']} has changed from {known[azure.canonical_id(event['id'])][key]!r} to {event[key]!r}"
        for event in now.status["events"]
        for key in azure.JUDGED_BY
        if azure.canonical_id(event["id"]) in wanted and known[azure.canonical_id(event["id"])][key] != event[key]
    ]


def _newly_started(before: DocumentReading, now: DocumentReading) -> list[str]:
    known = {azure.canonical_id(event["id"]) for event in before.status["events"] if event["status"] == "Started"}
    return [
        event["id"]
        for event in now.status["events"]
        if event["status"] == "Started" and azure.canonical_id(event["id"]) not in known
    ]


def _note_sent(own: dict[str, EventRecord], sender: str) -> None:
    for record in own.values():
        record.sent_by, record.sent_at, record.unclear = sender, time.time(), None


def _forget_unclear(own: dict[str, EventRecord]) -> None:
    for record in own.values():
        record.unclear = None
