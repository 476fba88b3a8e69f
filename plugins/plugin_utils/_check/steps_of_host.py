# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drain steps of a host as they would be for a Reboot, and what they need on the controller."""

from __future__ import annotations

import functools
import inspect
import typing as t
from collections.abc import Iterable
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.controller_has import look_into
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.needs import (
    Need,
    about_modules,
    needs_of,
    nodes_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.rehearsal import reboot_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.windows import is_windows
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import Arguments, Step
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import (
    OURS,
    BadSteps,
    Folders,
    checked_health,
    checked_steps,
)

# Since ansible-core 2.19 that is said of a file where it is read.
_MAY_BE_TEMPLATES: dict[str, t.Any] = (
    {"trusted_as_template": True}
    if "trusted_as_template" in inspect.signature(DataLoader.load_from_file).parameters
    else {}
)
DOCS = "docs/drain-steps.md has the kinds and their arguments"


class StepsSeen(t.NamedTuple):
    findings: list[Finding]
    needs: list[Need]
    # The nodes of clusters that are drained, where the controller can ask for them.
    nodes: list[dict[str, t.Any]]


def steps_of_host(action: ActionBase, task_vars: dict[str, t.Any], steps_path: list[str], not_before: str) -> StepsSeen:
    host = str(task_vars["inventory_hostname"])
    point = "drain steps"
    try:
        windows = is_windows(action)
        folders = Folders.found(steps_path, action._loader.get_basedir(), host, windows)
        items = _resolved(action, task_vars, "drain_steps", not_before)
        steps = checked_steps(items, folders.specs(), on_windows=windows)
        health = checked_health(_resolved(action, task_vars, "restore_health", not_before), windows)
        looked = look_into(
            _task_files(folders, steps, health if windows else ()),
            (OURS, folders.basedir),
            functools.partial(action._loader.load_from_file, **_MAY_BE_TEMPLATES),
            action._templar.copy_with_new_env(
                available_variables={**task_vars, "role_path": str(OURS.parent)}
            ).template,
        )
    except BadSteps as error:
        return StepsSeen([bad("plan", point, str(error), DOCS)], [], [])
    if not steps:
        do = "Nothing is drained before an event is approved: set drain_steps if something runs on this host"
        return StepsSeen([doubtful("plan", point, "none", do)], [], [])
    kinds = ", ".join(step.kind for step in steps)
    found = [good("plan", point, f"{len(steps)}: {kinds}")]
    found.append(about_modules(sorted(looked.missing), looked.unknown))
    nodes = [] if any(name.startswith("kubernetes.core.") for name in looked.missing) else nodes_of(steps, folders.own)
    return StepsSeen(found, needs_of(steps, folders.own, host), nodes)


def _resolved(action: ActionBase, task_vars: dict[str, t.Any], name: str, not_before: str) -> t.Any:
    event = reboot_of("", str(task_vars.get("maintenance_vm_name") or task_vars["inventory_hostname"]), not_before)
    variables = {**task_vars, "maintenance_event": wrap_var(event)}
    try:
        return plain(action._templar.copy_with_new_env(available_variables=variables).template(task_vars.get(name, [])))
    except AnsibleError as error:
        raise BadSteps(f"{name} can't be resolved: {error}") from None


def _task_files(folders: Folders, steps: Iterable[Step], health_on_windows: Iterable[Arguments]) -> set[Path]:
    """The files that do the steps and the checks of health, where the host does not do them by itself."""
    placed = [folders.health_on_windows(check) for check in health_on_windows]
    for step in steps:
        placed.append(folders.placed_to_drain(step.kind, step.arguments))
        placed.append(folders.placed_to_restore(step.kind, step.arguments))
    files = {Path(one[key]) for one in placed for key in ("tasks", "look") if one.get(key)}
    return {file for file in files if file.is_file()}
