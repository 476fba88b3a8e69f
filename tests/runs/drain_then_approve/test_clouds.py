# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run in odd surroundings: a slow service, VMs that go away, no newer api-versions, nodes of a cluster."""

from __future__ import annotations

import json

import pytest
from helpers.fleet import RunFleet
from helpers.kubernetes_double import Cluster, kubeconfig, served
from helpers.other_collections import collections_path

pytestmark = pytest.mark.rest


@pytest.fixture
def fleet(tmp_path):
    """A minute passes in a second: the first call takes 2 s, events show 3 s after it, VMs are away for 4 s."""
    with RunFleet(tmp_path, hosts=3, domains=2, profile="azure", speed=60) as built:
        yield built


def questions(fleet, vm):
    return [line for line in fleet.simulator.log() if line["vm"] == vm and line["path"].endswith("/scheduledevents")]


def test_a_run_with_a_slow_start_and_vms_that_go_away(fleet):
    fleet.event_per_domain(notice=90000, dwell=420, impact_seconds=240)
    fleet.run("--check").ended()
    # One has waited for its call, which switched the service on; others were answered with nothing and asked again.
    assert max(len(questions(fleet, vm)) for vm in fleet.domain_of) > 1
    fleet.simulator.advance(240)
    fleet.run().ended()
    assert sorted(fleet.approvals()) == ["E0", "E1"]
    started = [change for change in fleet.simulator.changes() if change["change"] == "started"]
    assert len(started) == 2
    for change in started:
        away = [vm for vm in change["resources"] for line in questions(fleet, vm) if was_answered(line, change)]
        assert away == []
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    fleet.assert_one_domain_at_a_time()
    fleet.assert_restored_only_after_the_end()
    fleet.assert_back_to_normal()


def was_answered(line, started):
    """Whether a question was asked and answered while the VM was away."""
    return line["answered"] is not None and started["time"] < line["time"] < started["time"] + 4


AUTO = ("-e", "maintenance_api_version=auto")


@pytest.fixture
def older(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2, api_versions=["2017-03-01", "2017-08-01"]) as built:
        built.event_per_domain(notice=90000)
        yield built


def test_a_whole_run_in_a_cloud_that_lacks_the_newer_api_versions(older):
    older.run(*AUTO).ended()
    assert sorted(older.approvals()) == ["E0", "E1"]
    older.assert_nothing_approved_before_its_hosts_were_drained()
    older.assert_one_domain_at_a_time()
    older.assert_back_to_normal()
    # Each host has looked for it once.
    newest = [line["vm"] for line in older.simulator.log() if line["query"] == "api-version=2020-07-01"]
    assert sorted(newest) == ["web-0", "web-1"]


DRAINED = "maintenance.azure/drained"


@pytest.fixture
def with_nodes(tmp_path):
    with RunFleet(tmp_path, hosts=2, domains=2) as built:
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


def ran(with_nodes):
    return with_nodes.run(ANSIBLE_COLLECTIONS_PATH=collections_path())


def test_a_node_whose_host_has_lost_its_disk_is_returned(with_nodes, cluster):
    with_nodes.simulator.add_event(id="E0", type="Redeploy", resources=["web-0"], notice=900, dwell=0)
    # Somebody stops the run when the node is drained, and the disk is gone.
    with_nodes.host_vars["web-0"]["drain_steps"].append({"command": {"drain": "/bin/false"}})
    with_nodes.host_vars["web-0"]["maintenance_on_failed_drain"] = "leave"
    ran(with_nodes).ended(2)
    assert cluster.nodes["web-0"]["unschedulable"]
    assert cluster.labels["web-0"] == {DRAINED: "true"}
    assert json.loads(cluster.annotations["web-0"][DRAINED])["types"] == ["Redeploy"]
    with_nodes.journal("web-0").unlink()
    with_nodes.simulator.cancel("E0")
    del with_nodes.host_vars["web-0"]["drain_steps"][1]

    ran(with_nodes).ended()
    assert not cluster.nodes["web-0"]["unschedulable"]
    assert (cluster.annotations["web-0"], cluster.labels["web-0"]) == ({}, {})
