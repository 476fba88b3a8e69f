# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One approval for each event that is covered, whoever is lost on the way: seen in the service's own log."""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import threading
from pathlib import Path

import pytest
from helpers.ansible_run import inventory, play
from helpers.network import unreachable_host
from helpers.simulator_process import Simulator
from helpers.sshd_process import SSHD, sshd
from helpers.waiting import wait_until

HOSTS = ["web_0", "web_1", "web_2"]
FLEET = {"vms": [{"name": name, "group": "web"} for name in HOSTS], "groups": {"web": {"kind": "availability_set"}}}
TASK = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {"drained": "{{ groups.all }}", "timeout": 30}}


@pytest.fixture
def simulator():
    with Simulator(FLEET) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=HOSTS, dwell=600)
        yield fleet


def hosts(folder, simulator, **own):
    return inventory(
        folder,
        {
            vm: {"maintenance_endpoint": url, **simulator.azure_variables(vm), **own.get(vm, {})}
            for vm, url in simulator.endpoints.items()
        },
    )


def posts(simulator):
    """What was sent and let in: hosts that go through one VM may be too many at once for its five requests a second."""
    log = [line for line in simulator.log() if line["method"] == "POST" and line["status"] != 429]
    return [(line["vm"], line["approved"]) for line in log]


def assert_approved_once(simulator):
    assert [approved for _vm, approved in posts(simulator) if approved] == [["A1"]]


@pytest.mark.parametrize(
    ("keywords", "arguments"),
    [
        pytest.param({}, (), id="linear"),
        pytest.param({"strategy": "free"}, (), id="free", marks=pytest.mark.rest),
        pytest.param({}, ("--forks", "1"), id="one fork", marks=pytest.mark.rest),
        pytest.param({"serial": 1}, (), id="serial", marks=pytest.mark.rest),
        pytest.param({}, ("--limit", "web_1,web_2"), id="limit", marks=pytest.mark.rest),
    ],
)
def test_one_host_sends_and_the_others_say_who(tmp_path, simulator, keywords, arguments):
    outcome = play(tmp_path, hosts(tmp_path, simulator), TASK, arguments=arguments, **keywords).ended()
    assert len(posts(simulator)) == 1
    leader = posts(simulator)[0][0]
    results = outcome.everywhere("Approve")
    assert sorted(results) == (HOSTS[1:] if "--limit" in arguments else HOSTS)
    for host, result in results.items():
        assert result["changed"] == (host == leader)
        assert result["approved"] == (["A1"] if host == leader else [])
        assert result["leaders"] == {"A1": leader}


@pytest.mark.rest
def test_run_once(tmp_path, simulator):
    outcome = play(tmp_path, hosts(tmp_path, simulator), {**TASK, "run_once": True})
    assert (outcome.code, posts(simulator)) == (0, [("web_0", ["A1"])])


@pytest.mark.rest
def test_delegated_to_one_host(tmp_path, simulator):
    task = {
        **TASK,
        "maintenance.azure.scheduled_event_approve": {
            **TASK["maintenance.azure.scheduled_event_approve"],
            "endpoint": "{{ hostvars.web_2.maintenance_endpoint }}",
        },
        "delegate_to": "web_2",
    }
    outcome = play(tmp_path, hosts(tmp_path, simulator), task)
    assert (outcome.code, posts(simulator)) == (0, [("web_2", ["A1"])])
    assert sum(result["changed"] for result in outcome.everywhere("Approve").values()) == 1


@pytest.mark.parametrize("forks", [pytest.param("1", marks=pytest.mark.rest), "5"])
def test_a_host_that_can_t_be_reached_is_replaced(tmp_path, simulator, forks):
    lost = unreachable_host(tmp_path)
    outcome = play(tmp_path, hosts(tmp_path, simulator, web_0=lost), TASK, arguments=("--forks", forks))
    assert outcome.of("Approve", "web_0")["outcome"] == "unreachable"
    assert_approved_once(simulator)


def test_a_lost_answer_is_resolved_by_reading(tmp_path, simulator):
    simulator.fault(kind="lost_answer", count=1, method="POST")
    outcome = play(tmp_path, hosts(tmp_path, simulator), TASK).ended()
    assert_approved_once(simulator)
    assert sum(result["changed"] for result in outcome.everywhere("Approve").values()) == 1
    assert len(posts(simulator)) == 1


@pytest.mark.rest
def test_a_host_whose_drain_failed_is_not_of_the_batch_any_more(tmp_path, simulator):
    failing = {"name": "Drain", "ansible.builtin.command": "/bin/false", "when": "inventory_hostname == 'web_1'"}
    batch = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {"drained": "{{ ansible_play_batch }}"}}
    outcome = play(tmp_path, hosts(tmp_path, simulator), failing, batch)
    assert (outcome.code, posts(simulator)) == (2, [])
    refusal = outcome.of("Approve", "web_0")
    assert (refusal["outcome"], refusal["refused"][0]["uncovered"]) == ("failed", ["web_1"])
    assert "web_1, not among the drained hosts" in refusal["msg"]


def test_names_me_and_a_vm_that_is_not_drained(tmp_path, simulator):
    alone = {"name": "Approve", "maintenance.azure.scheduled_event_approve": {}}
    outcome = play(tmp_path, hosts(tmp_path, simulator), alone, arguments=("--limit", "web_0"))
    assert (outcome.code, posts(simulator)) == (2, [])


@pytest.mark.skipif(SSHD is None, reason="no sshd on this machine: install openssh-server")
@pytest.mark.parametrize(
    ("arrives", "cut_off"),
    [
        pytest.param(True, "dead", marks=pytest.mark.rest),
        pytest.param(False, "dead", marks=pytest.mark.rest),
        (False, "silent"),
    ],
)
def test_a_host_that_is_cut_off_in_the_middle_of_its_post(tmp_path, simulator, arrives, cut_off):
    """The leader is reached through a real sshd, which ends or stops with all its sessions while the POST hangs.

    A host whose power fails does not say goodbye: ssh would wait for it for ever.
    """
    # One who is silent still has his connection to the service: it must not be heard later.
    simulator.fault(vm="web_0", kind="hang", seconds=300 if cut_off == "silent" else 20, method="POST")
    cut = threading.Event()

    def cut_it_off(pid):
        wait_until(lambda: any(vm == "web_0" for vm, _approved in posts(simulator)))
        if arrives:
            simulator.start("A1")
        signal_with_children(pid, {"dead": signal.SIGKILL, "silent": signal.SIGSTOP}[cut_off])
        cut.set()

    with sshd(tmp_path) as host_vars:
        pid = host_vars.pop("sshd_pid")
        watcher = threading.Thread(target=cut_it_off, args=(pid,))
        watcher.start()
        order = {"ansible_ssh_retries": 0}
        outcome = play(
            tmp_path, hosts(tmp_path, simulator, web_0={**host_vars, **order}), TASK, arguments=("--forks", "1")
        )
        watcher.join()
        signal_with_children(pid, signal.SIGKILL)
    assert cut.is_set()
    assert any(vm == "web_0" for vm, _approved in posts(simulator))
    assert outcome.of("Approve", "web_0")["outcome"] == "unreachable"
    taken_in = [approved for vm, approved in posts(simulator) if vm != "web_0"]
    assert taken_in == ([] if arrives else [["A1"]])
    assert outcome.of("Approve", "web_2")["outcome"] == "ok"


def signal_with_children(pid, number):
    children = collections.defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            children[int(stat.read_text().rpartition(")")[2].split()[1])].append(int(stat.parent.name))
    doomed = [pid]
    for parent in doomed:
        doomed += children[parent]
    for process in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
