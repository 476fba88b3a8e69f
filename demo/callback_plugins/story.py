# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run says, without the tasks in between: for people who watch it for the first time."""

from __future__ import annotations

from ansible import context
from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: story
type: stdout
short_description: Only what is said, what is changed and what goes wrong
description: For the demo.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "story"

    def __init__(self):
        super().__init__()
        self.task = ""
        self.changed = []

    def v2_playbook_on_task_start(self, task, is_conditional):
        self._tell_changes()
        self.task = task.get_name().rpartition(" : ")[2]

    def v2_playbook_on_stats(self, stats):
        self._tell_changes()

    def v2_runner_on_ok(self, result):
        said = result._result.get("msg")
        if self.task == "Plan the waves" and not context.CLIARGS.get("check"):
            return  # The stage before has shown it.
        if isinstance(said, list):
            self._tell_changes()
            for line in said:
                self._display.display(f"   {line}")
        elif result._result.get("changed"):
            self.changed.append(result._host.get_name())

    def v2_runner_on_failed(self, result, ignore_errors=False):
        if not ignore_errors:
            said = result._result.get("msg", "failed")
            self._display.display(f"   {result._host.get_name()}: {said}")

    def v2_runner_on_unreachable(self, result):
        self.v2_runner_on_failed(result)

    def _tell_changes(self):
        if self.changed:
            self._display.display(f"   {self.task}: {', '.join(sorted(self.changed))}")
        self.changed = []
