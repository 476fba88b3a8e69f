# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check finds elsewhere: leases and their lock hosts, nodes of Kubernetes."""

from __future__ import annotations

import json
import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import group_path
from helpers.ansible_run import inventory, play
from helpers.check_run import check, needs_ssh
from helpers.kubernetes_double import Cluster, kubeconfig, served
from helpers.leases import owner
from helpers.other_collections import collections_path

pytestmark = pytest.mark.rest

NOTE = {"host": "b-1", "events": ["E-1"], "type": "Reboot", "run": "nightly", "at": 1794787232, "mark": None}
AWAY = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Group a is free, b is held, c has notes, d lacks one lock host, e two, and the lease of f can't be read."""
    folder = tmp_path_factory.mktemp("leases")
    hosts = {}
    for group in "abcdef":
        for number in range(3):
            host = f"{group}-{number}"
            hosts[host] = {"maintenance_delivery_group": group, "maintenance_lock_path": str(folder / f"{host}.lock")}
            hosts[host].update(drain_journal=str(folder / "journal.json"), maintenance_endpoint="http://127.0.0.1:1")
    for host in ("d-0", "e-0", "e-1"):
        hosts[host].update(AWAY)
    listed = inventory(folder, hosts)
    lease = {"run_id": "nightly", "note": "job 4711", "path": "{{ maintenance_lock_path }}"}
    take = {**lease, "do": "take", "seconds": 600}
    tasks = [
        {
            "name": "Take",
            "maintenance.azure.lease": {**take, "group": group},
            "when": f"inventory_hostname.startswith('{group}')",
        }
        for group in "bf"
    ]
    # As a run does it, which alone has notes.
    request = {"path": group_path(f"{folder}/{{{{ inventory_hostname }}}}.lock", "c"), "me": owner("nightly")}
    notes = {**request, "do": "take", "seconds": 600, "notes": [NOTE], "forget": []}
    tasks += [
        {
            "name": one["do"],
            "maintenance.azure._host_command": {"name": "lease", "request": one},
            "when": "inventory_hostname.startswith('c')",
        }
        for one in (notes, {**notes, "do": "release", "notes": []})
    ]
    play(folder, listed, *tasks, hosts="all:!d-0:!e-0:!e-1").ended()
    for path in folder.glob("f-[01]*.lock"):
        path.write_text("nonsense")
    return check(folder, listed)


@pytest.mark.parametrize(
    ("point", "verdict", "seen"),
    [
        ("lease of a", "good", "free, kept on a-0, a-1 and a-2"),
        ("lease of b", "doubtful", "held by run nightly of "),
        ("lease of c", "doubtful", "free, with notes that b-1 may be drained"),
        pytest.param("lease of d", "doubtful", "one does not answer: d-0", marks=needs_ssh),
        pytest.param("lease of e", "bad", "these do not answer: e-0 (", marks=needs_ssh),
        ("lease of f", "bad", "these do not answer: f-0 ("),
    ],
)
def test_it_is_told(found, point, verdict, seen):
    told = found.of("the fleet", point)
    assert (told["verdict"], seen in told["seen"]) == (verdict, True), told
    assert bool(told["do"]) == (verdict != "good")


def test_whose_it_is_and_for_how_long(found):
    seen = found.of("the fleet", "lease of b")["seen"]
    assert "(job 4711)" in seen
    assert f"since {time.strftime('%Y-%m-%dT', time.gmtime())}" in seen
    assert "seconds more" in seen


def test_nothing_is_taken(tmp_path):
    lock = tmp_path / "locks" / "run.lock"
    own = {"maintenance_lock_path": str(lock), "drain_journal": str(tmp_path / "journal.json")}
    found = check(tmp_path, inventory(tmp_path, {"a": own, "b": own}))
    assert found.verdict("the fleet", "lease") == "good"
    assert not lock.parent.exists()


@needs_ssh
def test_the_lock_hosts_that_the_user_names(tmp_path):
    own = {"maintenance_lock_path": str(tmp_path / "run.lock"), "drain_journal": str(tmp_path / "journal.json")}
    hosts = {"a": own, "b": own, "bastion": {**own, **AWAY}}
    found = check(tmp_path, inventory(tmp_path, hosts), maintenance_hosts="a,b", maintenance_lock_hosts=["bastion"])
    assert "bastion" in found.of("the fleet", "lease")["seen"]
    assert found.run.code == 2


MINE = {"host": "forgotten", "run_id": "run-9", "events": ["E-1"], "before": {"cordoned": False}}
ANNOTATIONS = {
    "plain": {},
    "forgotten": {"maintenance.azure/drained": json.dumps(MINE)},
    "taken": {"maintenance.azure/drained": json.dumps({**MINE, "host": "somebody"})},
    "damaged": {"maintenance.azure/drained": "nonsense"},
    "drained": {"maintenance.azure/drained": json.dumps({**MINE, "host": "drained"})},
}
JOURNAL = {"version": 1, "state": "drained", "run_id": "run-9", "boot_id": None, "events": [], "steps": []}


@pytest.fixture(scope="module")
def methods():
    return []


@pytest.fixture(scope="module")
def cluster(methods):
    double = Cluster(dict.fromkeys(ANNOTATIONS, False))
    double.annotations.update(ANNOTATIONS)

    def noted(method, path, body):
        methods.append(method)
        return double.answer(method, path, body)

    with served(noted) as address:
        yield address


@pytest.fixture(scope="module")
def nodes(tmp_path_factory, cluster):
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "kubeconfig").write_text(kubeconfig(cluster))
    (folder / "drained.json").write_text(json.dumps(JOURNAL))
    (folder / "drained.json").chmod(0o600)
    step = {"node": "{{ inventory_hostname }}", "kubeconfig": f"{folder}/kubeconfig"}
    hosts = {
        name: {"drain_journal": str(folder / f"{name}.json"), "drain_steps": [{"kubernetes": step}]}
        for name in (*ANNOTATIONS, "unknown")
    }
    listed = inventory(folder, hosts)
    return check(folder, listed, settings={"ANSIBLE_COLLECTIONS_PATH": collections_path()})


@pytest.mark.parametrize(
    ("host", "verdict", "seen"),
    [
        ("plain", "good", "not drained by us"),
        ("forgotten", "bad", "drained for forgotten by run run-9, and the host has no journal"),
        ("taken", "bad", "drained for somebody by run run-9"),
        ("damaged", "bad", "can't be understood"),
        ("drained", "doubtful", "drained for drained by run run-9"),
        ("unknown", "bad", "there are 0 nodes of that name"),
    ],
)
def test_the_annotation_of_the_node_is_looked_at(nodes, host, verdict, seen):
    told = nodes.of(host, f"annotation of node {host}")
    assert (told["verdict"], seen in told["seen"]) == (verdict, True), told
    assert bool(told["do"]) == (verdict != "good")


def test_the_rest_of_the_step_is_looked_at_too(nodes, methods):
    assert nodes.verdict("plain", "collections of the steps") == "good"
    assert nodes.verdict("the fleet", "step 1 (kubernetes): path ") == "good"
    assert nodes.verdict("the fleet", "other machine localhost") == "good"
    # Annotations are its records, not files of the machine that asks.
    assert "records on localhost" not in json.dumps(nodes.report)
    assert set(methods) == {"GET"}
