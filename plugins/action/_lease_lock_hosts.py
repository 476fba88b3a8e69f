# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action _lease_lock_hosts: which hosts keep a lease that all of these hosts share."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._common.options import lease_lock_hosts_options
from ..plugin_utils._common.text import needed_vars
from ..plugin_utils._lease.lease import SIGNS_OF_WINDOWS, lease_groups, windows_hosts


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=lease_lock_hosts_options())
        hostvars = (task_vars or {})["hostvars"]
        known = [host for host in options["hosts"] if host in hostvars]
        windows = windows_hosts(needed_vars(known, hostvars, (), texts=SIGNS_OF_WINDOWS))
        lock_hosts = lease_groups(dict.fromkeys(options["hosts"], ""), options["lock_hosts"], windows).get("", [])
        if not lock_hosts:
            raise AnsibleActionFail("There is no host that could keep the lease: see maintenance_lock_hosts")
        return {"changed": False, "lock_hosts": lock_hosts}
