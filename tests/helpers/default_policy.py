# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy that the playbook drain_then_approve brings along."""

from __future__ import annotations

import pathlib

import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan import plan as _plan

PLAYBOOK = pathlib.Path(_plan.__file__).parents[3] / "playbooks/drain_then_approve.yml"
(DEFAULT_POLICY,) = (
    part["vars"]["maintenance_default_policy"]
    for part in yaml.safe_load(PLAYBOOK.read_text(encoding="utf-8"))
    if "vars" in part
)
