# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of drain_plan: checks the steps, opens the journal on the host, and does what it can at once."""

from __future__ import annotations

import contextlib
import time
import typing as t
import uuid

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import module_loader
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import Folders
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.orders import (
    Item,
    StepOrders,
    asks_the_controller,
    ready,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import (
    BadSteps,
    Step,
    checked_health,
    checked_steps,
    fixed_waits,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.work import (
    end_of_time,
    nearest_deadline,
    told_steps,
    work_to_drain,
    work_to_restore,
)

OPTIONS = dict(
    direction=dict(type="str", choices=["drain", "restore"], required=True),
    steps=dict(type="list", elements="raw", default=[]),
    steps_path=dict(type="list", elements="path", default=[]),
    events=dict(type="list", elements="dict", default=[]),
    health=dict(type="list", elements="raw", default=[]),
    journal=dict(type="path", default=DEFAULT_PATH),
    timeout=dict(type="int", default=600),
    reserve=dict(type="int", default=5),
    run_id=dict(type="str", default=""),
    seen=dict(type="dict"),
)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        self.task_vars = task_vars or {}
        self.host = str(self.task_vars["inventory_hostname"])
        _unused, self.options = self.validate_argument_spec(argument_spec=OPTIONS)
        if self.options["timeout"] <= 0:
            raise AnsibleActionFail(f"timeout must be at least 1 second, not {self.options['timeout']}")
        self.options["run_id"] = self.options["run_id"] or str(uuid.uuid4())
        try:
            plan = self._drain() if self.options["direction"] == "drain" else self._restore()
        except BadSteps as error:
            raise AnsibleActionFail(f"{self.host}: {error}") from None
        return wrap_var(plan)

    def _drain(self) -> dict[str, t.Any]:
        folders = self._folders()
        events = self.options["events"]
        steps = checked_steps(self.options["steps"], folders.specs(), events)
        for step in steps:
            folders.placed_to_drain(step.kind, step.arguments)
            folders.placed_to_restore(step.kind, step.arguments)
        self._check_needs(steps, folders)
        now = time.time()
        deadline = nearest_deadline(events)
        end = end_of_time(now, self.options["timeout"], self.options["reserve"], deadline)
        self._check_time(end - now, deadline, now, fixed_waits(steps))

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            work = work_to_drain(steps, journal, folders.placed_to_drain)
            plan = self._plan(journal, boot_id, work, end, started_at=now, deadline_at=deadline)
            return StepOrders(self, plan, self.task_vars)

        # Mostly there is no journal yet.
        return self._opened_and_done(orders_for, {"state": "draining", "steps": []}, events=events)

    def _restore(self) -> dict[str, t.Any]:
        folders = self._folders()
        health = checked_health(self.options["health"])
        now = time.time()

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            work = work_to_restore(journal, bool(health), folders.placed_to_restore)
            plan = self._plan(journal, boot_id, work, now + self.options["timeout"], started_at=now)
            plan.update(checks=health, restored_at=None, health=[])
            return StepOrders(self, plan, self.task_vars)

        return self._opened_and_done(orders_for, self.options["seen"])

    def _opened_and_done(
        self, orders_for: t.Callable[..., StepOrders], guess: dict[str, t.Any] | None, **more: t.Any
    ) -> dict[str, t.Any]:
        """Opens the journal and does what comes first, in one go where the journal is what it is guessed to be."""
        first = orders_for({"state": None, "steps": []})
        items: list[Item] = []
        with contextlib.suppress(BadSteps):
            if guess:
                first = orders_for(guess)
                items = [] if asks_the_controller(first.plan["work"]) else ready(first.plan["work"])
        order = first.order_of(items, first.plan["deadline"] - time.time())
        answer = first.ask({**order, "open": {"expected": guess["steps"] if guess else None, **more}})
        if answer.get("failed") or "journal" not in answer:
            message = answer.get("msg") or "the journal could not be opened"
            raise AnsibleActionFail(f"{self.host}: {message}", result=answer)
        if answer["journal"] is None:
            result = self._plan({}, answer["boot_id"], [], None)
            result.update(state="nothing", restored_at=None, health=[], changed=False)
        else:
            orders = orders_for(answer["journal"], answer["boot_id"])
            result = orders.nothing_yet()
            if answer["results"]:
                result = orders.after(items, answer, result)
            if not result.get("failed"):
                result = orders.all_on_the_host(result)
        # Such as the Python interpreter of the host.
        found: dict[str, t.Any] = {name: answer[name] for name in ("ansible_facts", "deprecations") if name in answer}
        return {**found, **result, "warnings": [*answer.get("warnings", []), *result.get("warnings", [])]}

    def _folders(self) -> Folders:
        basedir = self._loader.get_basedir()
        return Folders.found(self.options["steps_path"], basedir, self.host)

    def _check_needs(self, steps: list[Step], folders: Folders) -> None:
        if not any(step.kind == "kubernetes" and step.kind not in folders.own for step in steps):
            return
        if not module_loader.find_plugin("kubernetes.core.k8s_drain"):
            raise BadSteps(
                "A step kubernetes needs the collection kubernetes.core on the controller:"
                " ansible-galaxy collection install kubernetes.core"
            )

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
        direction = self.options["direction"]
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
        }
