# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The internal filters: the fan-out into AWX jobs, and the timeout of a user's task. Each has a .yml of its name."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._awx import fan_out as _fan_out
from ..plugin_utils._common import ansible, text
from ..plugin_utils._host import connection

OF_A_LAUNCH = ("launch_jobs", "launch_problems", "launch_differences")


def fan_out(
    hosts: t.Any, hostvars: t.Any, jobs: t.Any = 100, max_age: t.Any = None, drained: t.Any = ()
) -> dict[str, t.Any]:
    try:
        names = text.host_names(hosts)
        age = None if max_age is None else float(max_age)
        variables = _variables(names, hostvars, age)
        made = _fan_out.fan_out(names, variables, jobs=int(jobs), max_age=age, drained=text.host_names(drained))
    except (TypeError, ValueError) as error:
        raise AnsibleFilterError(f"maintenance.azure._fan_out: {error}") from None
    return wrap_var(made)


def _variables(names: list[str], hostvars: t.Any, max_age: float | None) -> dict[str, dict[str, t.Any]]:
    """One good reading is enough for hosts that are known to be of one group, and each one costs milliseconds."""
    found = text.needed_vars(names, hostvars, (_fan_out.GROUP, _fan_out.VM_NAME))
    spoken_for = set()
    for name in names:
        group = found[name].get(_fan_out.GROUP)
        if group not in spoken_for:
            found[name].update(text.needed_vars([name], hostvars, (_fan_out.STATUS,))[name])
            if group and _fan_out.good_reading(found[name], max_age):
                spoken_for.add(group)
    return found


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        found = {f"_{name}": ansible.as_filter(f"_{name}", getattr(_fan_out, name)) for name in OF_A_LAUNCH}
        return {**found, "_fan_out": fan_out, "_task_timeout": lambda seconds: connection.task_timeout(int(seconds))}
