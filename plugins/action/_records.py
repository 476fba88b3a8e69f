# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller half of _records."""

from __future__ import annotations

import typing as t

from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..module_utils._steps import records as _records
from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._host import answers as _answers
from ..plugin_utils._host.connection import HostHalf

RECORDS = HostHalf("_records", _records, _answers.RECORDS, private=False)


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=dict(folder=dict(type="path", required=True)))
        return wrap_var(RECORDS.run(self, options, task_vars or {}))
