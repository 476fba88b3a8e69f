# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.plan. Its documentation is in plan.yml."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._azure import vms
from ..plugin_utils._common import text
from ..plugin_utils._host import readings
from ..plugin_utils._plan.plan import PLAN_TEXTS, PLAN_VARIABLES, make_plan, with_journal
from ..plugin_utils._plan.text import render_plan


def plan(
    hosts: t.Any,
    hostvars: t.Any,
    policy: t.Any,
    max_at_once: t.Any = None,
    drained: t.Any = None,
    uncovered: str = "refuse",
    width: int = text.LINE_WIDTH,
) -> dict[str, t.Any]:
    try:
        names = text.host_names(hosts)

        variables = text.needed_vars(names, hostvars, PLAN_VARIABLES, texts=PLAN_TEXTS)

        def elsewhere() -> dict[str, list[str]]:
            others = [str(host) for host in hostvars if host not in variables]
            return vms.hosts_by_vm_name(others, text.needed_vars(others, hostvars, vms.NAME_VARIABLES))

        made = make_plan(
            names,
            variables,
            policy,
            max_at_once=max_at_once,
            drained=with_journal(variables) if drained is None else text.host_names(drained),
            uncovered=uncovered,
            elsewhere=elsewhere,
            names=lambda: readings.names_of_inventory(hostvars),
            now=time.time(),
        )
        made["lines"] = render_plan(made, int(width))
    except ValueError as error:
        raise AnsibleFilterError(f"maintenance.azure.plan: {error}") from None
    # Azure's words are in it: text, never a template. Before ansible-core 2.19 that has to be said.
    return wrap_var(made)


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"plan": plan}
