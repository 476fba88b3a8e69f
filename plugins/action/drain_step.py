# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of drain_step: watches the time, asks the host, and tells what the drain has come to."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.module_utils._drain_host import Host, StepError
from ansible_collections.maintenance.azure.plugins.module_utils._drain_options import ORDER, step_options
from ansible_collections.maintenance.azure.plugins.module_utils._kind_log import send
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain_work import with_statuses, with_step
from ansible_collections.maintenance.azure.plugins.plugin_utils._silent_hosts import notice_silence

MODULE = "maintenance.azure.drain_step"
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
)
# A failure is written down even where the time is over.
SECONDS_TO_WRITE = 30


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        self.task_vars = task_vars or {}
        _unused, self.options = self.validate_argument_spec(argument_spec=step_options())
        self.plan = {name: self.options["plan"][name] for name in KEPT if name in self.options["plan"]}
        self.perform = self.options["perform"]
        self.host = str(self.task_vars["inventory_hostname"])
        self.item = next(one for one in self.plan["work"] if one["position"] == self.options["position"])
        left = self.plan["deadline"] - time.time()
        if left <= 0 and self.perform != "record":
            return wrap_var(
                _slim({**self.plan, "failed": True, "changed": False, "late": True, "msg": self._out_of_time()})
            )
        warnings = self._tell_webhook(left)
        arguments = {"plan": {ORDER: self._order(max(left, 1))}, "position": self.options["position"]}
        notice_silence(self._connection)
        answer = self._execute_module(module_name=MODULE, module_args=arguments, task_vars=self.task_vars)
        result = self._result(answer)
        if result.get("failed") and time.time() >= self.plan["deadline"]:
            # A step that was cut short, whatever it said then.
            result["late"] = True
        if warnings:
            result["warnings"] = [*result.get("warnings", []), *warnings]
        return wrap_var(_slim(result) if result.get("failed") else result)

    def _order(self, left: float) -> dict[str, t.Any]:
        order: dict[str, t.Any] = {
            "perform": self.perform,
            "direction": self.plan["direction"],
            "timeout": left,
            "finished": self.item["finished"],
            "final": self.item["final"],
        }
        if self.perform == "finish":
            order["health"] = self.plan.get("checks", [])
        else:
            order["step"] = {name: self.item[name] for name in ("number", "kind", "arguments", "before")}
            if self.options["before"] is not None:
                order["step"]["before"] = self.options["before"]
        if self.perform == "record":
            order.update(status=self.options["status"], error=self.options["error"])
        if self.perform not in ("look", "act"):
            order.update(journal=self.plan["journal"], run_id=self.plan["run_id"])
        return order

    def _result(self, answer: dict[str, t.Any]) -> dict[str, t.Any]:
        result = {**self.plan, **{name: value for name, value in answer.items() if name != "invocation"}}
        # In check mode there is no journal to tell a state.
        for name in ("state", "drained_at", "boot_id", "restored_at"):
            result[name] = answer.get(name) or self.plan.get(name)
        if self.plan["begun_at"]:
            result["seconds"] = round(time.time() - self.plan["begun_at"], 1)
        if self.perform in ("step", "record", "finish") and not answer.get("failed"):
            status = "done" if self.plan["direction"] == "drain" else "undone"
            result["steps"] = with_statuses(self.plan["steps"], self.item["finished"], status)
        if answer.get("step"):
            result["steps"] = with_step(result["steps"], answer["step"])
        if answer.get("failed"):
            result["msg"] = self._complaint(str(answer.get("msg", "")).rstrip("."))
            if self.plan["direction"] == "restore":
                result["state"] = "failed"
            return result
        if self.item["final"] and self.perform in ("step", "finish"):
            result["state"] = "drained" if self.item["final"] == "drained" else "restored"
        if self.perform == "record" and self.options["status"] == "failed":
            result.update(failed=True, msg=self._complaint(str(self.options["error"]).rstrip(".")))
        return result

    def _name(self) -> str:
        if self.perform == "finish":
            return "the end"
        return f"step {self.item['number']} ({self.item['kind']})"

    def _complaint(self, reason: str) -> str:
        if self.perform in ("look", "act"):
            return reason  # the record that follows says the rest
        if self.plan["direction"] == "restore":
            if self.perform == "finish":
                return (
                    f"{self.host} is restored but not healthy: {reason}. Its journal {self.plan['journal']} stays open;"
                    " put the cause right and run again"
                )
            return (
                f"{self.host} is not restored, {self._name()} failed: {reason}. What comes after it is still drained;"
                f" put the cause right and run again (journal {self.plan['journal']})"
            )
        return (
            f"{self.host} is not drained, {self._name()} failed: {reason}. What was drained before it stays drained"
            f" (journal {self.plan['journal']}): put the cause right and run again, or run the role restore"
        )

    def _out_of_time(self) -> str:
        starts_at = self.plan.get("event_starts_at")
        if self.plan["direction"] == "drain" and starts_at:
            reason = f"{max(0, round(starts_at - time.time()))} s are left until the event may start"
        else:
            reason = f"the time for all steps is over after {round(time.time() - self.plan['begun_at'])} s"
        verb = "drained" if self.plan["direction"] == "drain" else "restored"
        rest = "What was drained stays drained" if verb == "drained" else "What was undone stays undone"
        return (
            f"{self.host} can't be {verb} in time, {reason} and {self._name()} has not begun."
            f" {rest} (journal {self.plan['journal']})"
        )

    def _tell_webhook(self, left: float) -> list[str]:
        """The webhook of a step `log` that is to be told from here and not from the host."""
        arguments = self.item.get("arguments") or {}
        webhook = arguments.get("webhook") if self.item["kind"] == "log" else None
        message = arguments.get("message" if self.plan["direction"] == "drain" else "restore_message")
        if not webhook or webhook.get("sent_from") != "controller" or not message or self._task.check_mode:
            return []
        controller = Host(min(left, SECONDS_TO_WRITE))
        try:
            send(controller, webhook, message)
        except StepError as error:
            raise AnsibleActionFail(self._complaint(str(error))) from None
        return controller.warnings


def _slim(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """A failure is printed whole: without the plan, that nobody needs any more, the sentence can be found in it."""
    return {name: value for name, value in result.items() if name not in ("work", "events", "checks")}
