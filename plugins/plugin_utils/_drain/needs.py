# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What steps need on the controller, and what is said where it is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ansible.plugins.loader import module_loader
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import Folders
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import Step
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import BadSteps


def check_needs(steps: Sequence[Step], folders: Folders) -> None:
    """Raises BadSteps where the collection that a step is done by is missing."""
    if any(step.kind == "kubernetes" and step.kind not in folders.own for step in steps):
        _check_for("kubernetes.core.k8s_drain", "A step kubernetes needs the collection kubernetes.core")


def check_needs_on_windows(steps: Iterable[Step], folders: Folders, has_health: bool) -> None:
    placed = [folders.placed_to_drain(step.kind, step.arguments) for step in steps]
    if any(place.get("on_windows") for place in placed):
        check_for_windows_modules("drain_steps")
    if has_health:
        check_for_windows_modules("restore_health")


def check_for_windows_modules(needed_by: str) -> None:
    _check_for("ansible.windows.win_powershell", f"On a Windows host {needed_by} need the collection ansible.windows")


def _check_for(module: str, needed: str) -> None:
    if not module_loader.find_plugin(module):
        collection = module.rpartition(".")[0]
        raise BadSteps(f"{needed} on the controller: ansible-galaxy collection install {collection}")
