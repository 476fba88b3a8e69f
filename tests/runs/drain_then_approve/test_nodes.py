# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of a cluster remembers for which host it is drained, also when that has lost its journal with its disk."""

from __future__ import annotations

import json

import pytest
from helpers.fleet import RollFleet
from helpers.kubernetes_double import Cluster, kubeconfig, served
from helpers.other_collections import collections_path

pytestmark = pytest.mark.rest
DRAINED = "maintenance.azure/drained"


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=2, domains=2) as built:
        for host in built.domain_of:
            step = {"node": "{{ inventory_hostname }}", "kubeconfig": f"{tmp_path}/kubeconfig", "timeout": 5}
            built.host_vars[host]["drain_steps"] = [{"kubernetes": step}]
        yield built


@pytest.fixture
def cluster(tmp_path):
    double = Cluster(dict.fromkeys(("web-0", "web-1"), False))
    with served(double.answer) as address:
        (tmp_path / "kubeconfig").write_text(kubeconfig(address))
        yield double


def rolled(fleet):
    return fleet.roll(ANSIBLE_COLLECTIONS_PATH=collections_path())


def test_a_node_whose_host_has_lost_its_disk_is_returned(fleet, cluster):
    fleet.simulator.add_event(id="E0", type="Redeploy", resources=["web-0"], notice=900, dwell=0)
    # Somebody stops the run when the node is drained, and the disk is gone.
    fleet.host_vars["web-0"]["drain_steps"].append({"command": {"drain": "/bin/false"}})
    fleet.host_vars["web-0"]["maintenance_on_failed_drain"] = "leave"
    run = rolled(fleet)
    assert run.code == 2, run.output
    assert cluster.nodes["web-0"]["unschedulable"]
    assert cluster.labels["web-0"] == {DRAINED: "true"}
    assert json.loads(cluster.annotations["web-0"][DRAINED])["types"] == ["Redeploy"]
    fleet.journal("web-0").unlink()
    fleet.simulator.cancel("E0")
    del fleet.host_vars["web-0"]["drain_steps"][1]

    run = rolled(fleet)
    assert run.code == 0, run.output
    assert not cluster.nodes["web-0"]["unschedulable"]
    assert (cluster.annotations["web-0"], cluster.labels["web-0"]) == ({}, {})


def test_who_needs_a_cluster_that_can_not_be_asked_is_not_drained(fleet, tmp_path):
    (tmp_path / "kubeconfig").write_text(kubeconfig("http://127.0.0.1:9"))
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], notice=900)
    run = rolled(fleet)
    assert run.code == 2
    assert "can't be asked for its records" in " ".join(run.output.split())
    assert (fleet.approvals(), fleet.drained_hosts()) == ([], [])


def test_a_node_that_is_drained_for_a_host_that_is_gone_is_told(fleet, cluster):
    cluster.labels["web-1"][DRAINED] = "true"
    cluster.annotations["web-1"][DRAINED] = json.dumps({"host": "old-7", "run_id": "r", "events": ["E"], "before": {}})
    run = rolled(fleet)
    said = " ".join(run.output.split())
    assert "remembers that something is drained there for old-7" in said
    assert f"kubectl annotate node web-1 {DRAINED}-" in said
