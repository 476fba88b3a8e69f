# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's `drain_steps`, resolved for one event."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible.errors import AnsibleError
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import BadSteps
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.work import NO_EVENT


def resolved_steps(templar: t.Any, task_vars: Mapping[str, t.Any], event: Mapping[str, t.Any]) -> t.Any:
    """Plain data, not checked yet. What the event says is data, whoever kept it. Raises BadSteps."""
    variables = {**task_vars, "maintenance_event": wrap_var({**NO_EVENT, **event})}
    try:
        items = templar.copy_with_new_env(available_variables=variables).template(task_vars.get("drain_steps", []))
    except AnsibleError as error:
        raise BadSteps(f"drain_steps can't be resolved: {error}") from None
    return plain(items)
