# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a task's own host, taken by the action itself.

Each task of each host is a process of its own, in which every template among the task's arguments is compiled anew: for
a task that does little else, that is most of what it costs. So the actions of a roll take what they always need.
"""

from __future__ import annotations

import json
import typing as t

from ansible.plugins.action import ActionBase
from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import plain

# What a task registers for a host that is not its business. As a condition of the task, that would be a template, too.
NOT_ORDERED: dict[str, t.Any] = {"changed": False, "skipped": True, "skip_reason": "The order does not name this host"}


class OwnVariables:
    def __init__(self, action: ActionBase, task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.task_vars = task_vars
        self.host = str(task_vars["inventory_hostname"])

    def setting(self, name: str, default: t.Any = None) -> t.Any:
        """What the user has set, resolved; the default where it is not set, or set to nothing."""
        value = self.task_vars.get(name)
        if value is not None and not isinstance(value, (bool, int, float)):
            value = plain(self.action._templar.template(value))
        return default if value is None else value

    def registered(self, name: str) -> t.Any:
        """What a task has registered. It is no template, whatever it holds."""
        return self.task_vars.get(name)

    def settings(self, names: t.Mapping[str, str]) -> dict[str, t.Any]:
        """Option -> the value of the variable that is named for it, of those that are set."""
        found = {option: self.setting(variable) for option, variable in names.items()}
        return {option: value for option, value in found.items() if value is not None}

    def listed(self, path: str) -> bool:
        """Whether this host is in a list of hosts: `ansible_play_batch`, or `__check.hosts` of what was registered."""
        name, _dot, key = path.partition(".")
        found = self.registered(name)
        hosts = (found or {}).get(key) if key else found
        return self.host in (hosts or ())

    def order(self, name: str) -> dict[str, t.Any] | None:
        """What the action _roll, whose result was registered under that name, has this host do; None for nothing."""
        told = self.registered(name)["orders"].get(self.host)
        return None if told is None else t.cast("dict[str, t.Any]", json.loads(told))

    def run(self) -> dict[str, t.Any]:
        """What the plays of a roll share, see roll/begin.yml."""
        shared: dict[str, t.Any] = self.task_vars["hostvars"].raw_get("localhost")["maintenance_roll"]
        return shared
