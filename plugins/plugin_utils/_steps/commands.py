# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Orders to a host: one step after another."""

from __future__ import annotations

import json
import time
import typing as t
from collections.abc import Sequence

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...module_utils._host import files
from ...module_utils._steps import command_entry as _command_entry
from ...module_utils._steps import health as _health
from ...module_utils._steps import machine
from ...module_utils._steps.kind import KINDS, kind_of
from ...module_utils._steps.kind_log import send_message
from .._azure import vms
from .._host import answers as _answers
from .._host import connection
from .kinds import in_short, webhook_of_the_controller
from .work import in_order, with_statuses, with_step

Item: t.TypeAlias = dict[str, t.Any]
Result: t.TypeAlias = dict[str, t.Any]

# What a step is given may be secret.
_FILES_OF_KINDS = sorted({kind.__module__ for kind in KINDS.values()})
STEP = connection.HostHalf("steps", _command_entry, _answers.STEP, private=True, more=_FILES_OF_KINDS)
# A host that is not asked for these need not have them.
OPTIONAL = {_health.__name__, *_FILES_OF_KINDS}
# What a result keeps of the plan, so that it can take the plan's place.
KEPT = (
    "direction",
    "state",
    "journal",
    "run_id",
    "boot_id",
    "started_at",
    "drained_at",
    "restored_at",
    "seconds",
    "events",
    "steps",
    "work",
    "begun_at",
    "deadline",
    "event_starts_at",
    "checks",
    "health",
    "left_over",
    "fenced",
    "audit",
    "mark",
)
# What a result takes over from the host's answer about one step.
TOLD = ("changed", "failed", "msg", "done", "now", "before", "found", "step", "health", "rc")
# Parts of a step that read or write a file or two.
FILES_ALONE = ("record", "claim")
# A failure is written down even where the time is over.
SECONDS_TO_WRITE = 30


class StepOrders:
    """What is ordered of one host, and the plan as it stands by now."""

    def __init__(self, action: ActionBase, plan: Result, task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.task_vars = task_vars
        self.plan = {name: plan[name] for name in KEPT if name in plan}
        self.host = str(task_vars["inventory_hostname"])
        self.perform = "step"
        self.item: Item = {}

    @property
    def direction(self) -> str:
        """That of the item: a drain begins with what an earlier list of steps has left to undo."""
        return str(self.item.get("direction") or self.plan["direction"])

    @property
    def undoes_first(self) -> bool:
        return self.direction != self.plan["direction"]

    def one(self, item: Item, options: dict[str, t.Any]) -> Result:
        """One item of the plan's work, or a part of it, for a task of its own."""
        self.item, self.perform = item, options["perform"]
        left = self.plan["deadline"] - time.time()
        if self.perform == "unhealthy":
            return self._unhealthy(str(options["error"]))
        if left <= 0 and self.perform != "record":
            return self._too_late()
        begins = self.perform == "record" and options["status"] == "started"
        warnings = self._tell_webhook(left) if begins or self.perform == "step" else []
        if begins and item.get("begun"):
            # That was written down when the journal was opened.
            return {**self.nothing_yet(), "warnings": warnings}
        order = self._order(options)
        order["timeout"] = max(left, 1)
        answer = self.ask(order)
        result = self._result(answer, options)
        result["warnings"] = [*answer.get("remarks", []), *warnings]
        return self._finished(result)

    def all_on_the_host(self, so_far: Result | None = None) -> Result:
        """Everything that comes before the first step that needs tasks of its own."""
        result = so_far or self.nothing_yet()
        while items := ready(self.plan["work"]):
            self.item, self.perform = items[0], _perform_of(items[0])
            left = self.plan["deadline"] - time.time()
            if left <= 0:
                return {**self._too_late(), "changed": result["changed"]}
            result["warnings"] += self._tell_webhook(left)
            answer = self.ask(self.order_of(items, left))
            if answer.get("failed"):
                return self._finished(self._result(answer))
            result = self.after(items, answer, result)
            if result.get("failed"):
                return result
        return result

    def with_beginning(self, order: dict[str, t.Any]) -> dict[str, t.Any]:
        """The same order, with which it is also written down that the first step begins, whose work tasks do."""
        self.item, self.perform = self.plan["work"][0], "record"
        begins = self._order({"status": "started", "error": None, "before": self.item["before"]})
        return {**order, "orders": [begins], "seconds_at_work": begins.get("seconds_at_work")}

    def after_beginning(self, told: dict[str, t.Any]) -> Result:
        self.item, self.perform = self.plan["work"][0], "record"
        if told.get("failed"):
            return self._finished(self._result(told))
        self.item["begun"] = True
        if told.get("step"):
            self.plan["steps"] = with_step(self.plan["steps"], told["step"])
        return self.nothing_yet()

    def _unhealthy(self, reason: str) -> Result:
        """A check of health that tasks have made says no."""
        self.perform = "finish"
        said = [{"check": self.item["check"], "ok": False, "said": reason}]
        return self._finished({**self._result({"failed": True, "changed": False, "msg": reason}), "health": said})

    def nothing_yet(self) -> Result:
        return {**self.plan, "changed": False, "done": [], "warnings": []}

    def order_of(self, items: Sequence[Item], left: float) -> dict[str, t.Any]:
        orders = []
        for self.item in items:
            self.perform = _perform_of(self.item)
            orders.append(self._order({}))
        return {
            "perform": "steps",
            "direction": self.plan["direction"],
            "timeout": left,
            "journal": self.plan["journal"],
            "run_id": self.plan["run_id"],
            "orders": orders,
            **self._said_of_the_run(),
        }

    def after(self, items: Sequence[Item], answer: dict[str, t.Any], so_far: Result) -> Result:
        """The plan and the result after the host has answered for each of these items, or for the first of them."""
        result = so_far
        for self.item, told in zip(items, answer["results"], strict=False):
            self.perform = _perform_of(self.item)
            done, warnings, changed = result["done"], result["warnings"], result["changed"]
            result = self._result(told)
            result["done"] = [*done, *told.get("done", [])]
            result["warnings"] = [*warnings, *told.get("remarks", [])]
            result["changed"] = changed or bool(told.get("changed"))
            if result.get("failed"):
                return self._finished(result)
            result["work"] = in_order(self.plan["work"][1:])
            self.plan = {name: result[name] for name in KEPT if name in result}
        if len(answer["results"]) < len(items):
            self.item = items[len(answer["results"])]
            self.perform = _perform_of(self.item)
            return {**self._too_late(), "changed": result["changed"]}
        return result

    def ask(self, order: dict[str, t.Any]) -> dict[str, t.Any]:
        unused = _unused_by(order)
        kinds = [part for part in STEP.parts(unused) if part[0] in _FILES_OF_KINDS and part[1]]
        # The host itself ends its steps in their time. What only reads or writes a file has less.
        does = order["perform"] not in FILES_ALONE
        seconds = order["timeout"] + connection.SECONDS_OF_A_COMMAND if does else connection.SECONDS_OF_A_COMMAND
        return STEP.run(
            self.action,
            order,
            self.task_vars,
            unused=unused,
            for_module={"kinds": kinds},
            ends_with_the_run=bool(order.get("fenced")),
            seconds=seconds,
            after_silence=seconds if does else connection.SECONDS_AFTER_SILENCE,
        )

    def _order(self, options: dict[str, t.Any]) -> dict[str, t.Any]:
        order: dict[str, t.Any] = {
            "perform": self.perform,
            "direction": self.direction,
            "finished": self.item["finished"],
            "final": self.item["final"],
        }
        if self.perform == "finish":
            order["health"] = [] if self._health_by_tasks() else self.plan.get("checks", [])
        else:
            order["step"] = {name: self.item[name] for name in ("number", "kind", "arguments", "before")}
            order["step"]["event"] = (self.item.get("event") or {}).get("id")
            if options.get("before") is not None:
                order["step"]["before"] = options["before"]
        if self.perform == "record":
            order.update(status=options["status"], error=options["error"])
        if self.perform in ("claim", "act"):
            # Where the journal is gone, only what that machine remembers is undone.
            must_exist = bool(self.item.get("remembered"))
            record = {"folder": options["records"], "action": self._recorded_action(), "must_exist": must_exist}
            order.update(run_id=self.plan["run_id"], record=record)
        else:
            order.update(journal=self.plan["journal"], run_id=self.plan["run_id"])
            order.update(self._said_of_the_run())
            if self.perform == "record" and options["status"] == "started":
                order["seconds_at_work"] = self._seconds_by_tasks()
        return order

    def _said_of_the_run(self) -> dict[str, t.Any]:
        """What the host itself says of the run, to others and in its audit file."""
        return {
            "fenced": self.plan.get("fenced", False),
            "audit": self.plan.get("audit"),
            "mark": self.plan.get("mark"),
        }

    def _health_by_tasks(self) -> bool:
        return any(one["kind"] == "health" for one in self.plan["work"])

    def _seconds_by_tasks(self) -> float:
        """How long the tasks of this step may take: its own timeout, or all the time that is left."""
        arguments = self.item.get("arguments") or {}
        nested = [one["timeout"] for one in arguments.values() if isinstance(one, dict) and "timeout" in one]
        own = [arguments["timeout"]] if isinstance(arguments.get("timeout"), (int, float)) else nested
        left = max(0.0, self.plan["deadline"] - time.time())
        return max(float(files.SECONDS_AHEAD), float(min([left, *own[:1]])))

    def _recorded_action(self) -> dict[str, t.Any]:
        """What another machine writes down of what is done there for this host."""
        events = [str(event.get("id")) for event in self.plan["events"]]
        types = [str(event.get("type")) for event in self.plan["events"]]
        return {
            "acts_on": self.item["acts_on"],
            "host": self.host,
            "vm": vms.vm_name_of(self.host, self.task_vars),
            "events": events,
            "type": types[0] if types else "",
        }

    def _result(self, answer: dict[str, t.Any], options: dict[str, t.Any] | None = None) -> Result:
        result = {**self.plan, **{name: answer[name] for name in TOLD if name in answer}}
        # In check mode there is no journal to tell a state.
        for name in ("state", "drained_at", "boot_id", "restored_at"):
            result[name] = answer.get(name) or self.plan.get(name)
        if self.plan["begun_at"]:
            result["seconds"] = round(time.time() - self.plan["begun_at"], 1)
        if self.perform in ("step", "record", "finish") and not answer.get("failed"):
            status = "done" if self.direction == "drain" else "undone"
            result["steps"] = with_statuses(self.plan["steps"], self.item["finished"], status)
        if answer.get("step"):
            result["steps"] = with_step(result["steps"], answer["step"])
        if answer.get("failed"):
            result["msg"] = self._complaint(str(answer.get("msg", "")).rstrip("."))
            if self.plan["direction"] == "restore":
                result["state"] = "failed"
            return result
        if self.item["final"] and self.perform in ("step", "finish"):
            result["state"] = {"drained": "drained", "closed": "restored", "left": "failed"}[self.item["final"]]
        if self.perform == "finish" and self._health_by_tasks() and not self.action._task.check_mode:
            result["health"] = [{"check": check, "ok": True, "said": ""} for check in self.plan.get("checks", [])]
        if self.item["final"] == "left" and self.perform == "finish":
            result.update(failed=True, msg=self._left_over())
        if self.perform == "record" and options and options["status"] == "failed":
            result.update(failed=True, msg=self._complaint(str(options["error"]).rstrip(".")))
        return result

    def _name(self) -> str:
        if self.perform == "finish":
            return "the end"
        return f"step {self.item['number']} ({self.item['kind']})"

    def _complaint(self, reason: str) -> str:
        if self.perform in ("claim", "act"):
            # The record that follows says the rest, but not where this was.
            return f"on {self.action._task.delegate_to or self.host}: {reason}"
        if self.undoes_first:
            return (
                f"{self.host} is not drained: {self._name()} was done for an earlier list of steps, and undoing it"
                f" failed: {reason}. What was drained before it stays drained (journal {self.plan['journal']}): correct"
                " that step in drain_steps, or put the cause right, and run again"
            )
        if self.direction == "restore":
            if self.perform == "finish":
                return (
                    f"{self.host} is returned to service but not healthy: {reason}. Its journal {self.plan['journal']}"
                    " stays open; put the cause right and run again"
                )
            return (
                f"{self.host} is not returned to service, {self._name()} failed: {reason}. What comes after it is still"
                f" drained; put the cause right and run again (journal {self.plan['journal']})"
            )
        return (
            f"{self.host} is not drained, {self._name()} failed: {reason}. What was drained before it stays drained"
            f" (journal {self.plan['journal']}): put the cause right and run again, or run the role restore"
        )

    def not_to_be_drained(self, steps: Sequence[Item]) -> str:
        """What was begun for an earlier list of steps keeps the host from being drained by that of today."""
        return f"{self.host} is not drained: its journal says that {self._of_no_list(steps, 'a part of ')}"

    def _left_over(self) -> str:
        """Steps that were done and that the user's steps no longer have: nobody but a person knows how to undo them."""
        return (
            f"{self.host} is not returned to service: its journal says that {self._of_no_list(self.plan['left_over'])}"
        )

    def _of_no_list(self, steps: Sequence[Item], share: str = "") -> str:
        named = "; ".join(f"{share}step {step['number']} ({in_short(step['acts_on'])})" for step in steps)
        forget = json.dumps(
            {
                "path": self.plan["journal"],
                "state": "step",
                "steps": [{"number": step["number"], "status": "undone"} for step in steps],
            }
        )
        return (
            f"{named} was done, and drain_steps have no such step, so nothing was done about it. Give drain_steps as"
            " they were for the drain and run again; or put it right by hand, have it forgotten with:"
            f" ansible {self.host} -m maintenance.azure.drain_journal -a '{forget}',"
            " and run again"
        )

    def _out_of_time(self) -> str:
        starts_at = self.plan.get("event_starts_at")
        if self.plan["direction"] == "drain" and starts_at:
            reason = f"{max(0, round(starts_at - time.time()))} s are left until the event may start"
        else:
            reason = f"the time for all steps is over after {round(time.time() - self.plan['begun_at'])} s"
        drains = self.plan["direction"] == "drain"
        verb = "drained" if drains else "returned to service"
        rest = "What was drained stays drained" if drains else "What was undone stays undone"
        return (
            f"{self.host} can't be {verb} in time, {reason} and {self._name()} has not begun."
            f" {rest} (journal {self.plan['journal']})"
        )

    def _too_late(self) -> Result:
        return slim({**self.plan, "failed": True, "changed": False, "late": True, "msg": self._out_of_time()})

    def _finished(self, result: Result) -> Result:
        if not result.get("failed"):
            return result
        if time.time() >= self.plan["deadline"]:
            # A step that was cut short, whatever it said then.
            result["late"] = True
        return slim(result)

    def _tell_webhook(self, left: float) -> list[str]:
        """The webhook of a step `log` that is to be told from here and not from the host."""
        arguments = self.item.get("arguments") or {}
        webhook = _webhook_of_the_controller(self.item)
        message = arguments.get("message" if self.direction == "drain" else "restore_message")
        if not webhook or not message or self.action._task.check_mode:
            return []
        controller = machine.Machine(min(left, SECONDS_TO_WRITE))
        try:
            send_message(controller, webhook, message)
        except machine.StepError as error:
            raise AnsibleActionFail(self._complaint(str(error))) from None
        return controller.warnings


def _unused_by(order: dict[str, t.Any]) -> set[str]:
    """The modules for kinds of steps, and for health checks, that an order has no need of."""
    orders = order.get("orders", [order])
    used = {_health.__name__} if any(one.get("health") for one in orders) else set()
    for one in orders:
        if one.get("step") and one["perform"] != "record":
            kind, _arguments = kind_of(one["step"]["kind"], one["step"]["arguments"])
            # With what it inherits from.
            used |= {part.__module__ for part in kind.__mro__} if kind else set()
    return OPTIONAL - used


def ready(work: Sequence[Item]) -> list[Item]:
    """The items that one order can have: up to the next that is done by tasks, or that the controller has a part in."""
    found: list[Item] = []
    for item in work:
        if item.get("by_tasks") or (found and _webhook_of_the_controller(item)):
            break
        found.append(item)
    return found


def asks_the_controller(work: Sequence[Item]) -> bool:
    return bool(work) and _webhook_of_the_controller(work[0]) is not None


def _perform_of(item: Item) -> str:
    return "finish" if item["kind"] == "journal" else "step"


def _webhook_of_the_controller(item: Item) -> dict[str, t.Any] | None:
    return webhook_of_the_controller(item["kind"], item.get("arguments") or {})


def slim(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """A failure is printed whole: without the plan, that nobody needs any more, the sentence can be found in it."""
    return {name: value for name, value in result.items() if name not in ("work", "events", "checks")}
