# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.fan_out. Its documentation is in fan_out.yml."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._fan_out import FAN_OUT_VARIABLES
from ansible_collections.maintenance.azure.plugins.plugin_utils._fan_out import fan_out as spread
from ansible_collections.maintenance.azure.plugins.plugin_utils._hostvars import host_names, needed_vars


def fan_out(hosts: t.Any, hostvars: t.Any, jobs: t.Any = 100, max_age: t.Any = None) -> dict[str, t.Any]:
    try:
        names = host_names(hosts)
        made = spread(
            names,
            needed_vars(names, hostvars, FAN_OUT_VARIABLES),
            jobs=int(jobs),
            max_age=None if max_age is None else float(max_age),
        )
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"maintenance.azure.fan_out: {error}") from None
    return wrap_var(made)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"fan_out": fan_out}
