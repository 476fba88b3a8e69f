# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes every task result of a run as a line of JSON, so that a test can look at it."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = r"""
name: results_file
type: aggregate
short_description: Write task results to a file
description: For the tests of this collection.
"""


class CallbackModule(CallbackBase):
    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "results_file"
    CALLBACK_NEEDS_ENABLED = True

    def _write(self, outcome, result):
        # Attributes moved in ansible-core 2.19; the underscored ones still answer on all versions.
        line = {
            "outcome": outcome,
            "host": result._host.get_name(),
            "task": result._task.get_name(),
            "result": result._result,
        }
        with Path(os.environ["RESULTS_FILE"]).open("a", encoding="utf-8") as results:
            results.write(json.dumps(line, default=str) + "\n")

    def v2_runner_on_ok(self, result, **kwargs):
        self._write("ok", result)

    def v2_runner_on_failed(self, result, ignore_errors=False, **kwargs):
        self._write("failed", result)

    def v2_runner_on_unreachable(self, result, **kwargs):
        self._write("unreachable", result)

    def v2_runner_on_skipped(self, result, **kwargs):
        self._write("skipped", result)
