# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes when each task of a run began, when its last host was done, and how many hosts it ran on or skipped."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: task_times
type: aggregate
short_description: Write the times of tasks to a file
description: For the benchmarks of this collection.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_times"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self):
        super().__init__()
        self.tasks = []

    def v2_playbook_on_task_start(self, task, is_conditional):
        self.tasks.append({"task": task.get_name(), "began": time.time(), "ended": None, "hosts": 0, "skipped": 0})
        self.tasks[-1].update(action=task.action, failed=[])

    def v2_runner_on_ok(self, result, **kwargs):
        self.tasks[-1]["hosts"] += 1
        self.tasks[-1]["ended"] = time.time()

    def v2_runner_on_skipped(self, result, **kwargs):
        self.tasks[-1]["skipped"] += 1
        self.v2_runner_on_ok(result)

    def v2_runner_on_failed(self, result, ignore_errors=False, **kwargs):
        self.tasks[-1]["failed"].append(str(result._result.get("msg"))[:500])
        self.v2_runner_on_ok(result)

    def v2_runner_on_unreachable(self, result, **kwargs):
        self.v2_runner_on_failed(result)

    def v2_playbook_on_stats(self, stats):
        Path(os.environ["TASK_TIMES"]).write_text(json.dumps(self.tasks), encoding="utf-8")
