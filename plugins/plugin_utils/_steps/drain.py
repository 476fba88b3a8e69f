# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan for a drain or for a return to service on one host."""

from __future__ import annotations

import contextlib
import dataclasses
import time
import typing as t
from collections.abc import Callable, Mapping
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from .._common import ansible
from .._host import service
from . import kinds, validate
from .commands import Item, StepOrders, asks_the_controller, ready
from .kinds import Step
from .work import (
    NO_EVENT,
    TodaysList,
    end_of_time,
    nearest_deadline,
    nearest_event,
    told_steps,
    with_health_by_tasks,
    work_from_records,
    work_to_drain,
    work_to_restore,
)


@dataclasses.dataclass
class HostPlan:
    """`look` is what the command that drains looks at when it is done, and `looked` what it saw."""

    action: ActionBase
    task_vars: dict[str, t.Any]
    options: dict[str, t.Any]
    folders: validate.Folders
    fence: dict[str, t.Any] | None
    look: dict[str, t.Any] | None
    looked: dict[str, t.Any] | None = None

    @property
    def host(self) -> str:
        return str(self.task_vars["inventory_hostname"])

    def drain(self) -> dict[str, t.Any]:
        events = self.options["events"]
        event = nearest_event(events)
        steps = self._steps_for(event, events)
        for step, _identity in steps:
            self.folders.placed_to_drain(step.kind, step.arguments)
            self.folders.placed_to_restore(step.kind, step.arguments)
        self._check_needs([step for step, _identity in steps])
        now = time.time()
        deadline = nearest_deadline(events)
        end = end_of_time(now, self.options["timeout"], self.options["reserve"], deadline)
        self._check_time(end - now, deadline, now, kinds.fixed_waits(step for step, _identity in steps))

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            work, left_over = work_to_drain(steps, journal, self._todays_list(journal))
            for item in work:
                item.setdefault("event", event)
            plan = self._plan(journal, boot_id, work, end, started_at=now, deadline_at=deadline)
            orders = StepOrders(self.action, plan, self.task_vars)
            if left_over:
                raise AnsibleActionFail(orders.not_to_be_drained(left_over))
            return orders

        # Mostly there is no journal yet.
        return self._opened_and_done(orders_for, {"state": "draining", "steps": [], "events": events}, events=events)

    def restore(self, effects: dict[str, t.Any]) -> dict[str, t.Any]:
        health = validate.checked_health(self.options["health"], self.folders.on_windows)
        if health and self.folders.on_windows:
            validate.check_for_windows_modules("restore_health")
        # What is wrong with them is said before anything is touched.
        self._steps_for(NO_EVENT, [])
        now = time.time()

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            work, left_over = work_to_restore(journal, self._todays_list(journal), bool(health))
            if self.folders.on_windows:
                work = with_health_by_tasks(work, health, self.folders.health_on_windows)
            plan = self._plan(journal, boot_id, work, now + self.options["timeout"], started_at=now)
            plan.update(checks=health, restored_at=None, health=[], left_over=left_over)
            return StepOrders(self.action, plan, self.task_vars)

        return self._opened_and_done(orders_for, self.options["seen"], effects=effects)

    def _without_journal(self, boot_id: str | None) -> dict[str, t.Any]:
        """Nothing was drained; or the disk with the journal is gone, and other machines still remember."""
        work = work_from_records(self._steps_for(NO_EVENT, []), self.folders.placed_to_restore)
        now = time.time()
        result = self._plan({}, boot_id, work, now + self.options["timeout"], started_at=now)
        return {**result, "state": "nothing", "restored_at": None, "health": [], "changed": False, "warnings": []}

    def _steps_for(self, event: dict[str, t.Any], events: list[dict[str, t.Any]]) -> list[tuple[Step, kinds.Identity]]:
        """The user's steps, resolved for an event. What it says is data, whoever kept it."""
        items = validate.resolved_steps(self.action._templar, self.task_vars, event)
        steps = validate.checked_steps(items, self.folders.specs(), events, self.folders.on_windows)
        return list(
            zip(steps, kinds.numbered(self._known_as(step.kind, step.arguments) for step in steps), strict=True)
        )

    def _todays_list(self, journal: Mapping[str, t.Any]) -> TodaysList:
        events = journal.get("events", [])
        return TodaysList(
            lambda event: self._steps_for(event or NO_EVENT, events),
            self._known_as,
            self._from_journal,
            self.folders.placed_to_drain,
            self.folders.placed_to_restore,
        )

    def _known_as(self, kind: str, arguments: Mapping[str, t.Any]) -> kinds.Identity:
        return kinds.identity_of(kind, arguments, self.host, kind in self.folders.own)

    def _from_journal(self, record: dict[str, t.Any]) -> Step | None:
        """A step that the user's steps no longer have, as the journal has it: only what was done on the host itself."""
        kind = record["kind"]
        if kind in self.folders.own or kind not in kinds.SPECS or kinds.is_done_by_tasks(kind):
            return None
        try:
            step = validate.checked_steps([{kind: record["arguments"]}], {}, on_windows=self.folders.on_windows)[0]
        except validate.BadSteps:
            return None
        elsewhere = kinds.place_of(kind, step.arguments, self.host) or kinds.webhook_of_the_controller(
            kind, step.arguments
        )
        return None if elsewhere else step

    def _opened_and_done(
        self, orders_for: Callable[..., StepOrders], guess: dict[str, t.Any] | None, **more: t.Any
    ) -> dict[str, t.Any]:
        """Opens the journal and does what comes first, in one go where the journal is what it is guessed to be."""
        first = orders_for({"state": None, "steps": []})
        items: list[Item] = []
        with contextlib.suppress(validate.BadSteps):
            if guess:
                first = orders_for(guess)
                items = [] if asks_the_controller(first.plan["work"]) else ready(first.plan["work"])
        order = first.order_of(items, first.plan["deadline"] - time.time())
        begins = bool(guess) and not items and self._begins_by_tasks(first.plan["work"])
        if begins:
            order = first.with_beginning(order)
        opened = {"expected": guess["steps"] if guess else None, "fence": self.fence, **more}
        answer = first.ask({**order, "open": opened, **({"look": self.look} if self.look else {})})
        if answer.get("failed") or "journal" not in answer:
            message = answer.get("msg") or "the journal could not be opened"
            raise AnsibleActionFail(f"{self.host}: {message}", result=answer)
        if answer["journal"] is None:
            result = self._without_journal(answer["boot_id"])
        else:
            orders = orders_for(answer["journal"], answer["boot_id"])
            result = orders.nothing_yet()
            if begins and answer["results"]:
                result = orders.after_beginning(answer["results"][0])
            elif answer["results"]:
                result = orders.after(items, answer, result)
            if not result.get("failed"):
                result = orders.all_on_the_host(result)
        self.looked = answer.get("look")
        return result

    def _begins_by_tasks(self, work: list[Item]) -> bool:
        """Whether the first step can be written down along with the opening: it costs a call of its own on Windows."""
        return self.folders.on_windows and bool(work) and Path(work[0]["file"]).name == "by_tasks.yml"

    def _check_needs(self, steps: list[Step]) -> None:
        if self.folders.on_windows:
            validate.check_needs_on_windows(steps, self.folders, bool(self.task_vars.get("restore_health")))
        validate.check_needs(steps, self.folders)

    def _check_time(self, seconds: float, deadline: float | None, now: float, waits: int) -> None:
        if seconds > waits:
            return
        if deadline is not None and deadline - self.options["reserve"] <= now + self.options["timeout"]:
            reason = f"the event may start in {max(0, round(deadline - now))} s"
        else:
            reason = f"drain_timeout is {self.options['timeout']} s"
        needed = f", and the steps wait for {waits} s" if waits else ""
        raise AnsibleActionFail(
            f"{self.host} can't be drained in time: {reason}{needed}. Nothing was done to it by this run",
            result={"late": True},
        )

    def _plan(
        self,
        journal: dict[str, t.Any],
        boot_id: str | None,
        work: list[dict[str, t.Any]],
        end: float | None,
        started_at: float = 0,
        deadline_at: float | None = None,
    ) -> dict[str, t.Any]:
        direction, own = self.options["direction"], ansible.OwnVariables(self.action, self.task_vars)
        return {
            "changed": False,
            "direction": direction,
            "state": journal.get("state"),
            "journal": self.options["journal"],
            "run_id": self.options["run_id"],
            "boot_id": boot_id,
            "started_at": journal.get("started_at"),
            "drained_at": journal.get("drained_at"),
            "seconds": 0,
            "events": journal.get("events", []),
            "steps": told_steps(journal),
            "work": work,
            "begun_at": started_at,
            "deadline": end,
            "event_starts_at": deadline_at,
            "fenced": self.fence is not None,
            "audit": service.whose_action(own, self.options["run_id"]),
            # In a run each call renews the mark of the run.
            "mark": service.path_of_mark(own) if self.fence is not None else None,
        }
