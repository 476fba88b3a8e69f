# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _drain_plan: checks the steps, opens the journal on the host, and does what it can at once."""

from __future__ import annotations

import contextlib
import time
import typing as t
import uuid
from collections.abc import Mapping
from pathlib import Path

from ansible import constants
from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import module_loader
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.module_utils._drain.options import fence_options, service_to_ask
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.effects import effects_seen
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.changed_list import no_longer_meant
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import Folders
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.identity import Identity, identity_of, numbered
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.journals import complete_fence
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import (
    DONE_BY_TASKS,
    SPECS,
    Step,
    fixed_waits,
    place_of,
    webhook_of_the_controller,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.orders import (
    Item,
    StepOrders,
    asks_the_controller,
    ready,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.resolved import resolved_steps
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import (
    BadSteps,
    checked_health,
    checked_steps,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.work import (
    NO_EVENT,
    end_of_time,
    nearest_deadline,
    nearest_event,
    told_steps,
    with_health_by_tasks,
    work_from_records,
    work_to_drain,
    work_to_restore,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._failures import in_one_sentence
from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.api_versions import ApiVersions
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.deeds import is_windows
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.documents import Documents
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.last_reading import last_reading
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.status_told import (
    endpoint_of,
    status_told_in_a_roll,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.whose_deed import path_of_mark, whose_deed
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.windows_paths import windows_path
from ansible_collections.maintenance.azure.plugins.plugin_utils._own_variables import NOT_ORDERED, OwnVariables

OPTIONS = dict(
    direction=dict(type="str", choices=["drain", "restore"], required=True),
    steps_path=dict(type="list", elements="path", default=[]),
    events=dict(type="list", elements="dict", default=[]),
    health=dict(type="list", elements="raw", default=[]),
    journal=dict(type="path", default=DEFAULT_PATH),
    timeout=dict(type="int", default=600),
    reserve=dict(type="int", default=5),
    run_id=dict(type="str", default=""),
    seen=dict(type="dict"),
    fence=fence_options(),
    **service_to_ask(),
)

# The variables of each role, taken here: as an argument, each would be a template that is compiled for every host.
VARIABLES = {
    "drain": {
        "steps_path": "drain_steps_path",
        "events": "drain_events",
        "journal": "drain_journal",
        "timeout": "drain_timeout",
        "reserve": "drain_reserve",
        "run_id": "drain_run_id",
        "fence": "drain_fence",
        "endpoint": "maintenance_endpoint",
        "api_version": "maintenance_api_version",
    },
    "restore": {
        "steps_path": "drain_steps_path",
        "health": "restore_health",
        "journal": "drain_journal",
        "timeout": "restore_timeout",
        "run_id": "restore_run_id",
        "fence": "restore_fence",
        "seen": "restore_seen",
    },
}


def _is_due(order: Mapping[str, t.Any], approved: t.Any) -> bool:
    """Whether a host is returned to service now: not while its event is there."""
    over = isinstance(approved, Mapping) and bool(approved.get("over"))
    return bool(order["restore"]) and (not order["acts"] or over)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        self.task_vars = task_vars or {}
        self.host = str(self.task_vars["inventory_hostname"])
        # Whether a roll has this host drained.
        self.ordered = False
        if not self._take_variables():
            return dict(NOT_ORDERED)
        _unused, self.options = self.validate_argument_spec(argument_spec=OPTIONS)
        self.options.update(events=plain(self.options["events"]), seen=plain(self.options["seen"]))
        if self.options["timeout"] <= 0:
            raise AnsibleActionFail(f"timeout must be at least 1 second, not {self.options['timeout']}")
        self.options["run_id"] = self.options["run_id"] or str(uuid.uuid4())
        self.on_windows = is_windows(self)
        if self.on_windows:
            self.options["journal"] = windows_path(self.options["journal"])
        self.fence = complete_fence(self.options, ApiVersions(constants.DEFAULT_LOCAL_TMP, self.host))
        try:
            self.folders = Folders.found(
                self.options["steps_path"], self._loader.get_basedir(), self.host, self.on_windows
            )
            plan = self._drain() if self.options["direction"] == "drain" else self._restore()
        except BadSteps as error:
            raise AnsibleActionFail(f"{self.host}: {error}") from None
        return wrap_var(plan)

    def _take_variables(self) -> bool:
        """What is not given as an argument is a variable of the role, or in the order that a roll has for this host.

        Returns whether there is something to do: a roll may have none for it.
        """
        own = OwnVariables(self, self.task_vars)
        role = str(self._task.args.get("direction"))
        order_in, ordered = own.setting(f"{role}_order_in", ""), {}
        if order_in:
            order = own.order(order_in)
            if order is None or not (role == "drain" or _is_due(order, own.registered("approve_result"))):
                return False
            self.ordered = role == "drain"
            ordered = self._drain_ordered(order, own) if role == "drain" else self._return_ordered(order, own)
            ordered["run_id"] = own.registered(order_in)["run_id"]
        wanted = {option: name for option, name in VARIABLES.get(role, {}).items() if option not in ordered}
        for option, value in {**own.settings(wanted), **ordered}.items():
            # What is empty is not given: a fence without a word would be one of default values.
            if value not in ({}, None):
                self._task.args.setdefault(option, value)
        return True

    @staticmethod
    def _drain_ordered(order: dict[str, t.Any], own: OwnVariables) -> dict[str, t.Any]:
        events = own.registered("maintenance_status")["events"]
        return {"fence": order["fence"], "events": [event for event in events if event["id"] in order["events"]]}

    @staticmethod
    def _return_ordered(order: dict[str, t.Any], own: OwnVariables) -> dict[str, t.Any]:
        # The last that was seen of the journal.
        marked, status = own.registered("approve_mark") or {}, last_reading(own.task_vars) or {}
        return {"fence": order["restore_fence"], "seen": marked.get("journal") or status.get("journal") or {}}

    def _drain(self) -> dict[str, t.Any]:
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
        self._check_time(end - now, deadline, now, fixed_waits(step for step, _identity in steps))

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            work = work_to_drain(steps, journal, self._known_as, self.folders.placed_to_drain)
            for item in work:
                item["event"] = event
            plan = self._plan(journal, boot_id, work, end, started_at=now, deadline_at=deadline)
            return StepOrders(self, plan, self.task_vars)

        # Mostly there is no journal yet.
        return self._opened_and_done(orders_for, {"state": "draining", "steps": [], "events": events}, events=events)

    def _restore(self) -> dict[str, t.Any]:
        health = checked_health(self.options["health"], self.on_windows)
        if health and self.on_windows:
            self._check_for_windows_modules("restore_health")
        # What is wrong with them is said before anything is touched.
        self._steps_for(NO_EVENT, [])
        now = time.time()

        def orders_for(journal: dict[str, t.Any], boot_id: str | None = None) -> StepOrders:
            events = journal.get("events", [])
            work, left_over = work_to_restore(
                journal,
                lambda event: self._steps_for(event or NO_EVENT, events),
                self._known_as,
                self._from_journal,
                bool(health),
                self.folders.placed_to_restore,
            )
            if self.on_windows:
                work = with_health_by_tasks(work, health, self.folders.health_on_windows)
            plan = self._plan(journal, boot_id, work, now + self.options["timeout"], started_at=now)
            plan.update(checks=health, restored_at=None, health=[], left_over=left_over)
            return StepOrders(self, plan, self.task_vars)

        return self._opened_and_done(orders_for, self.options["seen"], effects=self._effects())

    def _effects(self) -> dict[str, t.Any]:
        own = OwnVariables(self, self.task_vars)
        status = plain(last_reading(own.task_vars))
        if isinstance(status, dict) and (status.get("journal") or {}).get("marks"):
            status = Documents(constants.DEFAULT_LOCAL_TMP).whole(status, time.time())
        return effects_seen(plain(own.registered("approve_result")), status)

    def _without_journal(self, boot_id: str | None) -> dict[str, t.Any]:
        """Nothing was drained; or the disk with the journal is gone, and other machines still remember."""
        work = work_from_records(self._steps_for(NO_EVENT, []), self.folders.placed_to_restore)
        now = time.time()
        result = self._plan({}, boot_id, work, now + self.options["timeout"], started_at=now)
        return {**result, "state": "nothing", "restored_at": None, "health": [], "changed": False, "warnings": []}

    def _steps_for(self, event: dict[str, t.Any], events: list[dict[str, t.Any]]) -> list[tuple[Step, Identity]]:
        """The user's steps, resolved for an event. What it says is data, whoever kept it."""
        items = resolved_steps(self._templar, self.task_vars, event)
        steps = checked_steps(items, self.folders.specs(), events, self.on_windows)
        return list(zip(steps, numbered(self._known_as(step.kind, step.arguments) for step in steps), strict=True))

    def _known_as(self, kind: str, arguments: Mapping[str, t.Any]) -> Identity:
        return identity_of(kind, arguments, self.host, kind in self.folders.own)

    def _from_journal(self, record: dict[str, t.Any]) -> Step | None:
        """A step that the user's steps no longer have, as the journal has it: only what was done on the host itself."""
        kind = record["kind"]
        if kind in self.folders.own or kind not in SPECS or kind in DONE_BY_TASKS:
            return None
        try:
            step = checked_steps([{kind: record["arguments"]}], {}, on_windows=self.on_windows)[0]
        except BadSteps:
            return None
        elsewhere = place_of(kind, step.arguments, self.host) or webhook_of_the_controller(kind, step.arguments)
        return None if elsewhere else step

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
        begins = bool(guess) and not items and self._begins_by_tasks(first.plan["work"])
        if begins:
            order = first.with_beginning(order)
        opened = {"expected": guess["steps"] if guess else None, "fence": self.fence, **more}
        answer = first.ask({**order, "open": opened, **self._look_along()})
        if answer.get("failed") or "journal" not in answer:
            message = answer.get("msg") or "the journal could not be opened"
            raise AnsibleActionFail(f"{self.host}: {message}", result=answer)
        if self._undid_what_is_no_longer_meant(answer["journal"]):
            answer = first.ask({**first.order_of([], first.plan["deadline"] - time.time()), "open": opened})
            if answer.get("failed"):
                raise AnsibleActionFail(f"{self.host}: {answer['msg']}", result=answer)
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
        reading = self._reading(answer.get("look"))
        return {**result, "reading": reading} if reading else result

    def _look_along(self) -> dict[str, t.Any]:
        """In a roll, who is drained is read right after it. On Windows that would be one more call each time."""
        return {"look": self.fence["ask"]} if self.fence and self.ordered and not self.on_windows else {}

    def _reading(self, look: dict[str, t.Any] | None) -> dict[str, t.Any] | None:
        """As _host_state would have it; None where the host is to be asked by itself."""
        known = plain((OwnVariables(self, self.task_vars).registered("maintenance_status") or {}).get("this_host"))
        if not look or not self.fence or not known or not known.get("vm_name"):
            return None
        asked, answers = self.fence["ask"], {**look["answers"], "heard_at": time.time()}
        try:
            answers["endpoint"] = endpoint_of(answers["endpoint"], asked["endpoints"][0])
            status = status_told_in_a_roll(answers, known, None, Documents(constants.DEFAULT_LOCAL_TMP))
        except AnsibleActionFail:
            return None
        return {
            **status,
            "api_version": asked["api_version"],
            "journal": look["journal"],
            "journal_problem": "",
            "host_clock": look["clock"],
            "run_mark": look["run_mark"],
        }

    def _undid_what_is_no_longer_meant(self, journal: dict[str, t.Any] | None) -> bool:
        """Whether a host that has drained itself by other steps than those of today had to undo some of them first."""
        if self.options["direction"] != "drain" or self._task.check_mode or journal is None:
            return False
        placed, events = self.folders.placed_to_restore, journal["events"]
        undone = {
            **journal,
            "steps": no_longer_meant(journal, lambda event: self._steps_for(event or NO_EVENT, events), placed),
        }
        if not undone["steps"]:
            return False
        work, left_over = work_to_restore(undone, lambda _event: [], self._known_as, self._from_journal, False, placed)
        now = time.time()
        plan = self._plan(journal, None, [{**item, "final": None} for item in work], now + self.options["timeout"], now)
        plan.update(direction="restore", checks=[], left_over=left_over)
        result = StepOrders(self, plan, self.task_vars).all_on_the_host()
        if result.get("failed"):
            raise AnsibleActionFail(str(result["msg"]), result=result)
        return True

    def _begins_by_tasks(self, work: list[Item]) -> bool:
        """Whether the first step can be written down along with the opening: it costs a call of its own on Windows."""
        return self.on_windows and bool(work) and Path(work[0]["file"]).name == "by_tasks.yml"

    def _check_needs(self, steps: list[Step]) -> None:
        if self.on_windows:
            self._check_needs_of_windows(steps)
        if not any(step.kind == "kubernetes" and step.kind not in self.folders.own for step in steps):
            return
        if not module_loader.find_plugin("kubernetes.core.k8s_drain"):
            raise BadSteps(
                "A step kubernetes needs the collection kubernetes.core on the controller:"
                " ansible-galaxy collection install kubernetes.core"
            )

    def _check_needs_of_windows(self, steps: list[Step]) -> None:
        placed = [self.folders.placed_to_drain(step.kind, step.arguments) for step in steps]
        if any(place.get("on_windows") for place in placed):
            self._check_for_windows_modules("drain_steps")
        if self.task_vars.get("restore_health"):
            self._check_for_windows_modules("restore_health")

    @staticmethod
    def _check_for_windows_modules(needed_by: str) -> None:
        if not module_loader.find_plugin("ansible.windows.win_powershell"):
            raise BadSteps(
                f"On a Windows host {needed_by} need the collection ansible.windows on the controller:"
                " ansible-galaxy collection install ansible.windows"
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
        direction, own = self.options["direction"], OwnVariables(self, self.task_vars)
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
            "audit": whose_deed(own, self.options["run_id"]),
            # In a roll each call renews the mark of the run.
            "mark": path_of_mark(own) if self.fence is not None else None,
        }
