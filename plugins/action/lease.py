# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import typing as t

from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._common import ansible
from ..plugin_utils._lease.action import LeaseAction


class ActionModule(LeaseAction):
    _supports_check_mode = True
    _requires_connection = True

    @ansible.in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        return wrap_var(self.lease(task_vars or {}))
