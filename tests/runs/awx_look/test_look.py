# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a schedule starts where a job may launch others: the workflow comes only where there is something to do."""

from __future__ import annotations

import json

import pytest
from helpers import ROOT
from helpers.ansible_run import run
from helpers.awx_double.server import AwxDouble
from helpers.fleet import RollFleet
from helpers.other_collections import collections_path

pytestmark = [pytest.mark.once, pytest.mark.rest]

PROJECT = ROOT / "extensions" / "patterns" / "azure_maintenance"
QUESTION = {"type": "text", "required": True, "min": 1}


def test_the_workflow_is_launched_once_and_only_for_a_reason(tmp_path):
    asked = [{"variable": name, **QUESTION} for name in ("maintenance_hosts", "maintenance_max_at_once")]
    with AwxDouble(PROJECT) as awx, RollFleet(tmp_path, hosts=2, domains=2) as fleet:
        awx.store.add("organizations", {"name": "Second"})
        for organization in (1, awx.store.named("organizations", "Second")["id"]):
            awx.store.add(
                "workflow_job_templates",
                {
                    "name": "W",
                    "organization": organization,
                    "survey_enabled": True,
                    "ask_variables_on_launch": False,
                    **dict.fromkeys(("ask_inventory_on_launch", "ask_limit_on_launch"), False),
                    "survey_spec": {"spec": asked},
                },
            )
        given = {
            "maintenance_look_workflow": "W",
            "maintenance_look_organization": "Second",
            "maintenance_hosts": "all",
            "maintenance_max_at_once": "50%",
        }

        def look():
            command = ["ansible-playbook", "-i", str(fleet.inventory()), "maintenance.azure.awx_look"]
            more = {"ANSIBLE_COLLECTIONS_PATH": collections_path(), **awx.environment}
            done = run(tmp_path, [*command, "-e", json.dumps(given)], 300, **more)
            assert done.code == 0, done.output
            return done

        assert "Nothing to do, so nobody is asked." in look().output
        assert awx.launches.workflow_jobs == {}

        fleet.event_per_domain()
        look()
        assert len(awx.launches.workflow_jobs) == 1
        launched = next(iter(awx.launches.workflow_jobs.values()))
        assert json.loads(launched["extra_vars"]) == {"maintenance_hosts": "all", "maintenance_max_at_once": "50%"}
        second = awx.store.kinds["workflow_job_templates"][launched["unified_job_template"]]
        assert second["organization"] != 1
        assert (fleet.notes(), fleet.approvals()) == ([], [])

        again = look()
        assert f"the workflow is under way for it: workflow job {launched['id']}" in again.output
        assert len(awx.launches.workflow_jobs) == 1
