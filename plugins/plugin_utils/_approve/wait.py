# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting until an event is over."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t
from collections.abc import Callable
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.utils.display import Display

from .._azure import events as azure
from .._azure import vms
from .._common.store import Store
from .._common.text import clock, some_of, wrapped
from .._host import connection, windows
from .._host.service import DocumentReading, HostService, Service, ServiceAction, Silent, Unanswered, Unreachable
from . import judge

SECONDS_BETWEEN_NOTICES = 30


class NoticeBoard:
    """What the hosts of a task have said already."""

    def __init__(self, run_folder: str | Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.store = Store(run_folder, "notices")
        self.clock = clock

    def is_news(self, subject: str, notice: str) -> bool:
        """Whether to tell this: nobody has told it yet, or nothing was told about the subject for a while."""
        with self.store.locked(subject):
            told = self.store.read(subject) or {"at": 0, "notices": []}
            if notice in told["notices"] and self.clock() - told["at"] < SECONDS_BETWEEN_NOTICES:
                return False
            self.store.write({"at": self.clock(), "notices": [*told["notices"], notice][-20:]}, subject)
            return True


# Readings come quickly at first, as a short event may be over in seconds, then at a rate that nobody minds.
FIRST_PAUSE = 1.0
LONGEST_PAUSE = 5.0
# A host that is not there says so when it begins, and then rarely: many may be rebooting.
SECONDS_BETWEEN_COMPLAINTS = 300
LONGEST_COMPLAINT = 200
# A reading that takes longer is given up and asked for again: there is time.
SECONDS_PER_READING = 130.0
# A VM that is to be taken away has been, when it could not be reached this many times in a row.
FAILURES_OF_A_VM_TAKEN_AWAY = 3
# Readings in a row to which a host said nothing at all. One that boots refuses them, or can't be reached.
SILENCES_OF_A_HANGING_HOST = 3
# One that installs updates while it boots takes connections long before it answers.
SILENCES_ON_WINDOWS = 8
_MOMENTS = {"Started": "started_at", "gone": "over_at"}
_GOALS = {"started": "it starts", "finished": "it is over"}


@dataclasses.dataclass
class Complaints:
    """Tells that a host does not answer, and that it does again."""

    host: str
    tell: Callable[[str], None]
    at: float | None = None

    def update(self, trouble: str, now: float) -> None:
        if not trouble:
            if self.at is not None:
                self.tell(f"[{self.host}] answers again.")
            self.at = None
        elif self.at is None or now - self.at >= SECONDS_BETWEEN_COMPLAINTS:
            self.at = now
            text = " ".join(trouble.split())
            self.tell("\n".join(wrapped(f"[{self.host}] does not answer, trying on: {text[:LONGEST_COMPLAINT]}")))


def first_reading(
    service: Service,
    wait_timeout: float,
    complaints: Complaints,
    silences: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> DocumentReading:
    """A good reading from a host that may be down at first; the last trouble where none came in time."""
    deadline = clock() + wait_timeout
    silent = 0
    while True:
        try:
            return service.read(max(1.0, min(SECONDS_PER_READING, deadline - clock())))
        except (Unreachable, Unanswered) as error:
            silent = silent + 1 if isinstance(error, Silent) else 0
            if clock() + LONGEST_PAUSE >= deadline or silent == silences:
                raise
            complaints.update(str(error), clock())
            service.reconnect()
            sleep(LONGEST_PAUSE)


@dataclasses.dataclass
class Wait:
    """One host's wait for its events."""

    service: Service
    reading: DocumentReading
    complaints: Complaints
    goal: str
    event_ids: list[str]
    wait_timeout: float
    read_timeout: float
    tell: Callable[[str], None]
    # Whether a notice about an event is worth a line, see NoticeBoard.
    is_news: Callable[[str, str], bool]
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    known: dict[str, vms.EventData] = dataclasses.field(default_factory=dict)
    # Event id -> when it was first seen to have started, and to be over.
    times: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    # Event id -> the reading that first showed one of both.
    effects: dict[str, dict[str, t.Any]] = dataclasses.field(default_factory=dict)
    # After how many silent readings in a row a host is given up, if it ever is.
    silences: int | None = None
    trouble: str = ""
    failures_in_a_row: int = 0
    silent_in_a_row: int = 0

    def until_reached(self) -> str:
        """Returns why the wait failed; nothing where every event got as far as it should."""
        deadline = self.clock() + self.wait_timeout
        pause = FIRST_PAUSE
        self._remember()
        while True:
            missing = self._missing()
            if not missing or self._was_taken_away(missing):
                return ""
            left = deadline - self.clock()
            if left <= 0 or self.silent_in_a_row == self.silences:
                return self._timeout_sentence(missing)
            self._tell(missing, left)
            self.sleep(min(pause, left))
            pause = min(LONGEST_PAUSE, pause * 1.3)
            self._read(deadline - self.clock())

    def _read(self, left: float) -> None:
        try:
            self.reading = self.service.read(max(1.0, min(self.read_timeout, left)))
        except Unreachable as error:
            # The VM may be rebooting, which is what was approved: go on until it answers or the time is up.
            self._note_trouble(f"the host can't be reached ({error})")
            self.silent_in_a_row = self.silent_in_a_row + 1 if isinstance(error, Silent) else 0
            self.service.reconnect()
        except Unanswered as error:
            # Not a good reading, so not a reading: the events are where they were.
            self._note_trouble(str(error))
            self.silent_in_a_row = 0
        else:
            self.trouble, self.failures_in_a_row, self.silent_in_a_row = "", 0, 0
            self._remember()

    def _note_trouble(self, trouble: str) -> None:
        self.trouble = " ".join(trouble.split())
        self.failures_in_a_row += 1

    def _remember(self) -> None:
        for event in self.reading.status["events"]:
            self.known[azure.canonical_id(event["id"])] = event
        for event_id in self.event_ids:
            shown, status = self._outcome(event_id), self.reading.status
            moment = _MOMENTS.get(shown)
            if moment:
                self.times.setdefault(event_id, {}).setdefault(moment, status["read_at"])
                seen = {"shown": shown, "at": status["read_at"], "incarnation": status["document_incarnation"]}
                self.effects.setdefault(event_id, seen)

    def _outcome(self, event_id: str) -> str:
        return judge.shown_status(event_id, self.reading.status["events"])

    def _missing(self) -> list[str]:
        return [event_id for event_id in self.event_ids if not judge.is_reached(self.goal, self._outcome(event_id))]

    def _was_taken_away(self, missing: list[str]) -> bool:
        events = [self.known.get(azure.canonical_id(event_id)) for event_id in missing]
        return self.failures_in_a_row >= FAILURES_OF_A_VM_TAKEN_AWAY and all(
            event and azure.takes_away(event) and azure.names_host(event, self.reading.vm_name) for event in events
        )

    def _state(self, event_id: str) -> str:
        event = self.known.get(azure.canonical_id(event_id))
        outcome = self._outcome(event_id)
        text = f"{event['type'] if event else 'event'} {event_id} is {outcome}"
        return text + self._held_up(event_id)

    def _held_up(self, event_id: str) -> str:
        event = self.known.get(azure.canonical_id(event_id))
        holding = (
            judge.convoy(event, self.reading.status["events"])
            if event and self._outcome(event_id) == "Scheduled"
            else []
        )
        if not holding:
            return ""
        names = ", ".join(name for other in holding for name in other["resources"])
        return f" (Azure deletes no VM of the group before the deletion of {names} is approved or due)"

    def _states(self, missing: list[str]) -> str:
        return "; ".join(self._state(event_id) for event_id in missing)

    def _tell(self, missing: list[str], left: float) -> None:
        for event_id in missing:
            if self.is_news(event_id, f"{self.goal} {self._state(event_id)}"):
                text = f"Waiting until {_GOALS[self.goal]}: {self._progress(event_id)}. Giving up in {clock(left)}."
                self.tell("\n".join(wrapped(text)))
        self.complaints.update(self.trouble, self.clock())

    def _progress(self, event_id: str) -> str:
        event = self.known.get(azure.canonical_id(event_id))
        if not event:
            return f"event {event_id}"
        text = f"{event['type']} of {some_of(event['resources'])}"
        if self._outcome(event_id) == "Started":
            text += " has started"
        elif event["seconds_left"] is not None:
            text += f" is scheduled, due in {clock(event['seconds_left'])}"
        else:
            text += " is scheduled"
        if self.trouble:
            text += f", as seen last at {self.reading.status['read_at']}"
        return f"{text}{self._held_up(event_id)} (event {event_id})"

    def _timeout_sentence(self, missing: list[str]) -> str:
        trouble = f" The last reading failed: {self.trouble}" if self.trouble else ""
        if self.silent_in_a_row == self.silences:
            return (
                f"The host took {self.silences} commands in a row and answered none, so nobody of this wave waits"
                f" for it any longer. Last seen at {self.reading.status['read_at']}: {self._states(missing)}.{trouble}"
            )
        return (
            f"Not {self.goal} within the wait_timeout of {round(self.wait_timeout)} s. Last seen at"
            f" {self.reading.status['read_at']}: {self._states(missing)}.{trouble}"
        )


class WaitAction(ServiceAction):
    """Base of the actions that can wait for events, whoever approved them."""

    def checked_wait(self, argument_spec: dict[str, t.Any]) -> dict[str, t.Any]:
        options = self.checked_options(argument_spec)
        self.check_seconds(options, "wait_timeout")
        self.check_ids(options)
        return options

    def wait(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of scheduled_event_wait; what went wrong is in `problems`."""
        # With each reading the host is kept for this run, which must not go on after it was killed.
        with connection.ending_with_the_run() if options.get("run_id") else contextlib.nullcontext():
            return self._followed(options, task_vars)

    def _followed(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        service = HostService(self, options, task_vars)
        # In a run nobody else of the wave waits as long for a host that hangs.
        in_a_wave = bool(options.get("run_id")) and len(task_vars.get("ansible_play_batch") or ()) > 1
        silences = SILENCES_OF_A_HANGING_HOST if in_a_wave else None
        if silences and windows.is_windows(self):
            silences = SILENCES_ON_WINDOWS
        complaints = Complaints(str(self._task.delegate_to or task_vars["inventory_hostname"]), Display().display)
        started = time.monotonic()
        try:
            # The VM may be down right now: that is what is waited for.
            reading = (
                service.read()
                if self._task.check_mode
                else first_reading(service, options["wait_timeout"], complaints, silences)
            )
        except Unreachable as error:
            raise AnsibleConnectionFailure(str(error)) from None
        except Unanswered as error:
            raise AnsibleActionFail(str(error)) from None
        wait = Wait(
            service=service,
            reading=reading,
            complaints=complaints,
            goal=options["until"],
            event_ids=options["event_ids"],
            wait_timeout=options["wait_timeout"] - (time.monotonic() - started),
            read_timeout=options["timeout"],
            tell=Display().display,
            is_news=NoticeBoard(constants.DEFAULT_LOCAL_TMP).is_news,
            silences=silences,
        )
        failure = "" if self._task.check_mode else wait.until_reached()
        events = wait.reading.status["events"]
        return {
            "changed": False,
            "endpoint": wait.reading.status["endpoint"],
            "outcomes": {event_id: judge.shown_status(event_id, events) for event_id in options["event_ids"]},
            "times": wait.times,
            "effects": wait.effects,
            "read_at": wait.reading.status["read_at"],
            "waited": int(time.monotonic() - started),
            "problems": [failure] if failure else [],
        }
