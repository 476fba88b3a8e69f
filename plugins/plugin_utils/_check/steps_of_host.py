# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The drain steps of a host as they would be for a Reboot, and what they need on the controller."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import action_loader, module_loader
from ansible.utils.unsafe_proxy import wrap_var
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.needs import (
    Need,
    about_modules,
    modules_in,
    needs_of,
    nodes_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.rehearsal import reboot_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import Folders
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import (
    BadSteps,
    checked_health,
    checked_steps,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._filters import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.deeds import is_windows

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
        files = {
            str(placed["tasks"])
            for step in steps
            for placed in (
                folders.placed_to_drain(step.kind, step.arguments),
                folders.placed_to_restore(step.kind, step.arguments),
            )
            if placed.get("tasks")
        }
        checked_health(_resolved(action, task_vars, "restore_health", not_before), windows)
    except BadSteps as error:
        return StepsSeen([bad("plan", point, str(error), DOCS)], [], [])
    if not steps:
        do = "Nothing is drained before an event is approved: set drain_steps if something runs on this host"
        return StepsSeen([doubtful("plan", point, "none", do)], [], [])
    kinds = ", ".join(step.kind for step in steps)
    found = [good("plan", point, f"{len(steps)}: {kinds}")]
    missing = _missing_modules(files)
    found.append(about_modules(sorted(missing)))
    nodes = [] if any(name.startswith("kubernetes.core.") for name in missing) else nodes_of(steps, folders.own)
    return StepsSeen(found, needs_of(steps, folders.own, host), nodes)


def _resolved(action: ActionBase, task_vars: dict[str, t.Any], name: str, not_before: str) -> t.Any:
    event = reboot_of("", str(task_vars.get("maintenance_vm_name") or task_vars["inventory_hostname"]), not_before)
    variables = {**task_vars, "maintenance_event": wrap_var(event)}
    try:
        return plain(action._templar.copy_with_new_env(available_variables=variables).template(task_vars.get(name, [])))
    except AnsibleError as error:
        raise BadSteps(f"{name} can't be resolved: {error}") from None


def _missing_modules(files: set[str]) -> set[str]:
    needed: set[str] = set()
    for file in files:
        try:
            needed |= modules_in(yaml.safe_load(Path(file).read_text(encoding="utf-8")))
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise BadSteps(f"{file} can't be read: {error}") from None
    return {name for name in needed if not (action_loader.has_plugin(name) or module_loader.find_plugin(name))}
