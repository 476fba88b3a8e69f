# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An AWX with the template that a fan-out launches."""

from __future__ import annotations

import pytest
from helpers import ROOT
from helpers.awx_double.server import AwxDouble

PROJECT = ROOT / "extensions" / "patterns" / "azure_maintenance"
QUESTION = {"type": "text", "required": True, "min": 1}
ASKED = {
    "maintenance_hosts": "all",
    "maintenance_max_at_once": "100%",
    "maintenance_drain_profile": "own",
    "maintenance_fan_out_id": None,
    "maintenance_fan_out_keepers": None,
}


@pytest.fixture
def awx():
    with AwxDouble(PROJECT) as double:
        project = double.store.add("projects", {"name": "P", "organization": 1})
        questions = [{"variable": name, "default": default, **QUESTION} for name, default in ASKED.items()]
        double.store.add(
            "job_templates",
            {
                "name": "Azure maintenance: roll one group",
                "project": project["id"],
                "playbook": "playbooks/drain_then_approve.yml",
                "job_type": "run",
                "allow_simultaneous": True,
                "ask_limit_on_launch": True,
                "survey_enabled": True,
                "survey_spec": {"spec": questions},
            },
        )
        # Nobody is a superuser who does not have to be.
        double.launches.superuser = False
        double.launches.member_of = [1, 99]
        yield double


@pytest.fixture
def template(awx):
    return awx.store.named("job_templates", "Azure maintenance: roll one group")
