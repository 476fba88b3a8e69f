# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts keep which lease, for the playbook check: those that a run would ask."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._common.options import check_lock_hosts_options
from ..plugin_utils._common.text import needed_vars
from ..plugin_utils._lease.lease import SIGNS_OF_WINDOWS, lease_groups, windows_hosts


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=check_lock_hosts_options())
        task_vars = task_vars or {}
        hostvars, played = task_vars["hostvars"], {str(host) for host in task_vars["ansible_play_hosts_all"]}
        # All hosts of the inventory, whatever the pattern of this run: so has it a run.
        inventory = [str(host) for host in hostvars if host != "localhost" or host in played]
        try:
            variables = needed_vars(inventory, hostvars, ("maintenance_delivery_group",), texts=SIGNS_OF_WINDOWS)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        groups = {host: str(known.get("maintenance_delivery_group") or "") for host, known in variables.items()}
        # Of groups that have no host here nothing is of interest.
        wanted = {groups[host] for host in played if host in groups}
        lock_hosts = lease_groups(groups, options["lock_hosts"], windows_hosts(variables))
        calls = [
            {"group": group, "lock_host": lock_host}
            for group in lock_hosts
            if group in wanted
            for lock_host in lock_hosts[group]
        ]
        return {"changed": False, "calls": calls}
