# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that claims to be the VM of another one, which the run does not see: its word covers no approval."""

from __future__ import annotations

import pytest
from helpers.ansible_run import play
from helpers.fleet import RunFleet
from helpers.network import unreachable_host

BOTH = ["web-0", "web-1"]


@pytest.fixture
def fleet(tmp_path):
    """Two VMs that one event names; a stand-in for web-1 has the metadata of web-1, by whatever means."""
    with RunFleet(tmp_path, hosts=2, domains=1) as built:
        built.simulator.add_event(id="E0", type="Reboot", resources=BOTH, notice=9000, dwell=1)
        yield built


def outside_the_limit(fleet):
    fleet.host_vars["evil"] = stand_in(fleet)
    return "evil claims to be the VM web-1, but by the inventory that is web-1.", ["--limit", "evil,web-0"]


def unreachable_and_called_by_address(fleet):
    fleet.host_vars = {
        "192.0.2.1": {"maintenance_endpoint": fleet.simulator.endpoint("web-0"), "maintenance_vm_name": "web-0"},
        "192.0.2.2": {**stand_in(fleet), **unreachable_host(fleet.folder)},
        "192.0.2.9": stand_in(fleet),
    }
    said = "192.0.2.9 says that it is the VM web-1, which the inventory does not confirm."
    return f"{said} If it is, set maintenance_vm_name: web-1 on it.", []


def declared_to_be_another_vm(fleet):
    del fleet.host_vars["web-1"]
    fleet.host_vars["evil"] = {**stand_in(fleet), "maintenance_vm_name": "xevil"}
    return "evil says that it is the VM web-1, but the inventory declares it to be xevil.", []


def stand_in(fleet):
    return {"maintenance_endpoint": fleet.simulator.endpoint("web-1")}


@pytest.mark.parametrize("case", [outside_the_limit, unreachable_and_called_by_address, declared_to_be_another_vm])
def test_no_event_is_approved_on_the_word_of_a_stand_in(fleet, case):
    """I1."""
    said, arguments = case(fleet)
    run = fleet.run("-e", "approve_wait_timeout=3", *arguments)
    told = " ".join(" ".join(str(line["result"].get("msg", "")) for line in run.results).split())
    assert said in told.replace("', '", " ").replace('", "', " "), run.output
    assert run.code != 0, run.output
    assert fleet.approvals() == []
    assert not [host for word, host, _at in fleet.notes() if word == "drain" and host in ("evil", "192.0.2.9")]


READ = {"name": "Read", "maintenance.azure.scheduled_event_info": {}, "register": "read"}
KEEP = {"ansible.builtin.set_fact": {"maintenance_status": "{{ read }}"}}
APPROVE = {
    "name": "Approve",
    "maintenance.azure.scheduled_event_approve": {"drained": "{{ ansible_play_hosts_all }}", "timeout": 10},
    "ignore_errors": True,
}


@pytest.mark.parametrize("case", [outside_the_limit, declared_to_be_another_vm])
def test_the_module_trusts_no_stand_in(fleet, case):
    """Neither as the host that sends nor in `drained`."""
    said, _arguments = case(fleet)
    run = play(fleet.folder, fleet.inventory(), READ, KEEP, APPROVE, hosts="web-0:evil")
    results = run.everywhere("Approve")
    assert set(results) == {"web-0", "evil"}
    for host, result in results.items():
        assert result["outcome"] == "failed", (host, run.output)
        assert said in result["msg"]
    assert fleet.approvals() == []
