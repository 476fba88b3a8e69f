# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of drain_journal."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._common import ansible
from ..plugin_utils._common.options import journal_options
from ..plugin_utils._host import readings


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @ansible.in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=journal_options())
        return wrap_var(readings.ask_journal(self, options, task_vars or {}))
