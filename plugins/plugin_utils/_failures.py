# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failure that was foreseen is a sentence, without a traceback beside it."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable

from ansible.errors import AnsibleActionFail

RunOfAction = Callable[..., dict[str, t.Any]]


def in_one_sentence(run: RunOfAction) -> RunOfAction:
    """For `run` of an action.

    Before 2.19, ansible-core puts a traceback into every AnsibleActionFail, an empty one where there is none, and tells
    the user that an exception occurred. Any other exception is none that was foreseen and keeps its traceback.
    """

    @functools.wraps(run)
    def run_or_fail(self: t.Any, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        try:
            return run(self, tmp, task_vars)
        except AnsibleActionFail as failure:
            failure.result.pop("exception", None)
            raise

    return run_or_fail
