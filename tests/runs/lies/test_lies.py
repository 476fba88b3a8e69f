# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that was broken into answers with lies. It speaks for itself alone: nobody else notices."""

from __future__ import annotations

import json
import re

import pytest
from helpers import transports as ways
from helpers.ansible_run import inventory, play, run
from helpers.fleet import RunFleet
from helpers.lying_host import LyingHost
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

ROLE = "ansible.builtin.include_role"
HEADER = "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ lookup('pipe', 'touch {trap}') ]]"


def lies_about_everybody(trap):
    """Keys that mean something to Ansible, wherever they are believed."""
    command = {"command": {"drain": ["touch", str(trap)], "restore": ["touch", str(trap)]}}
    connection = {"ansible_connection": "ssh", "ansible_ssh_common_args": f"-o ProxyCommand='touch {trap}'"}
    return {
        "add_host": {"host_name": "victim", "groups": ["stolen"], "host_vars": connection},
        "add_group": "stolen",
        "ansible_facts": {"drain_steps": [command], "stolen": True, **connection},
        "ansible_stats": {"data": {"stolen": 1}, "per_host": False, "aggregate": False},
        "_ansible_no_log": True,
        "stolen": HEADER.format(trap=trap),
        "exception": "stolen",
    }


# The second is done by tasks, so that the role keeps the journal for it.
STEPS = [
    {"command": {"drain": "true", "restore": "true"}},
    {"tasks": {"drain": "nothing.yml", "restore": "nothing.yml"}},
]
EVERY_MODULE = (
    {"name": "Read", "maintenance.azure.scheduled_event_info": {}},
    {"name": "State", "maintenance.azure._read": {"do": "hosts", "journal": "{{ drain_journal }}"}},
    {"name": "Journal", "maintenance.azure.drain_journal": {"path": "{{ drain_journal }}"}},
    *(
        {
            "name": f"Lease, {action}",
            "maintenance.azure.lease": {"path": "{{ drain_journal }}.lock", "run_id": "r", "do": action},
        }
        for action in ("take", "renew", "release", "read")
    ),
    {"name": "Drain", ROLE: {"name": "maintenance.azure.drain"}},
    {"name": "Approve", "maintenance.azure.scheduled_event_approve": {"timeout": 5}},
    {"name": "Wait", "maintenance.azure.scheduled_event_wait": {"event_ids": ["A1"], "wait_timeout": 2, "timeout": 2}},
    {"name": "Restore", ROLE: {"name": "maintenance.azure.restore"}},
)
# In a play of its own, on all hosts that there are by then.
AFTERWARDS = {
    "hosts": "all",
    "gather_facts": False,
    "ignore_unreachable": True,
    "tasks": [
        {"name": "Touch", "ansible.builtin.raw": "true"},
        {
            "name": "Look",
            "ansible.builtin.debug": {
                "msg": {
                    "hosts": "{{ groups.all | sort }}",
                    "groups": "{{ groups.keys() | sort }}",
                    "steps": "{{ drain_steps }}",
                    "stolen": "{{ stolen | default('no') }}",
                    "connection": "{{ ansible_connection }}",
                }
            },
        },
    ],
}


def assert_nobody_noticed(run, trap, liars, hosts):
    assert not trap.exists(), run.output
    assert not [line for line in run.results if line["host"] == "victim"]
    for line in run.results:
        assert not set(line["result"]) & {"add_host", "add_group", "ansible_facts", "ansible_stats", "stolen"}, line
    seen = run.everywhere("Look")
    assert set(seen) == set(hosts)
    for host, look in seen.items():
        assert look["msg"]["hosts"] == sorted(hosts)
        assert "stolen" not in look["msg"]["groups"]
        assert look["msg"]["steps"] == STEPS, host
        assert (look["msg"]["stolen"], look["msg"]["connection"]) == ("no", "local")
    assert liars


@pytest.fixture
def simulator():
    with Simulator({"vms": [{"name": "web-0"}, {"name": "web-1"}]}) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web-0"], notice=9000, dwell=600)
        yield fleet


@pytest.mark.parametrize("way", ways.TO_THE_SERVICE)
@pytest.mark.parametrize(
    "once", [pytest.param(False, id="everywhere"), pytest.param(True, marks=pytest.mark.rest, id="run once")]
)
def test_every_module(tmp_path, simulator, way, once):
    trap = tmp_path / "trap"
    liar = LyingHost(tmp_path / "liar", only=() if way != "curl" else (simulator.endpoint("web-0"), "-c"))
    liar.says(merge=lies_about_everybody(trap), modules_only=way == "module")
    own = {"drain_steps": STEPS}
    (tmp_path / "nothing.yml").write_text('[{"name": "Nothing", "ansible.builtin.debug": {"msg": "x"}}]')
    hosts = inventory(
        tmp_path,
        {
            host: {
                "maintenance_endpoint": simulator.endpoint(host),
                "drain_journal": f"{tmp_path}/{host}/journal.json",
                **own,
                **(liar.host_vars if host == "web-0" else {}),
            }
            for host in ("web-0", "web-1")
        },
    )
    modules = [{**task, "ignore_errors": True, "failed_when": False} for task in EVERY_MODULE if ROLE not in task]
    roles = [
        {"block": [task], "rescue": [{"ansible.builtin.debug": {"msg": "failed"}}]}
        for task in EVERY_MODULE
        if ROLE in task
    ]
    tasks = [{**task, "run_once": True} for task in modules] if once else [*modules, *roles]
    defaults = {"group/maintenance.azure.imds": {"endpoint": "{{ maintenance_endpoint }}"}}
    first = {"hosts": "all", "gather_facts": False, "module_defaults": defaults, "tasks": tasks}
    (tmp_path / "book.json").write_text(json.dumps([first, AFTERWARDS]))
    command = ["ansible-playbook", "-i", str(hosts), "book.json"]
    told = run(tmp_path, command, ANSIBLE_PIPELINING="1", PATH=liar.path(with_curl=way == "curl"))
    assert {"curl": "curl", "command": "python3", "module": "python3"}[way] in liar.told()
    assert len(liar.told()) >= 4
    assert_nobody_noticed(told, trap, liar.told(), ["web-0", "web-1"])


SOMETHING_ELSE = "The host answered something else than it was asked for: its answer"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *(
            (text, SOMETHING_ELSE)
            for text in ("[1, 2]", "7", "null", '"x"', '{"answers": {}}', '{"changed": NaN}', "{}")
        ),
        ('{"failed": 3}', "The host gave no reason"),
        # How deep is too deep depends on the Python.
        ("[" * 100_000, f"The host's answer can't be understood: |{SOMETHING_ELSE}"),
    ],
)
def test_an_answer_of_another_shape_is_a_clear_failure(tmp_path, simulator, text, said):
    liar = LyingHost(tmp_path / "liar")
    liar.says(text=text)
    hosts = inventory(tmp_path, {"web-0": {"maintenance_endpoint": simulator.endpoint("web-0"), **liar.host_vars}})
    tasks = [
        {"name": "Read", "maintenance.azure.scheduled_event_info": {}, "ignore_errors": True},
        {"name": "Journal", "maintenance.azure.drain_journal": {"path": f"{tmp_path}/j.json"}, "ignore_errors": True},
        {
            "name": "Lease",
            "maintenance.azure.lease": {"path": f"{tmp_path}/lock", "run_id": "r", "do": "take"},
            "ignore_errors": True,
        },
    ]
    told = play(tmp_path, hosts, *tasks, ANSIBLE_PIPELINING="1", PATH=liar.path(with_curl=False))
    assert liar.told()
    for name in ("Read", "Journal", "Lease"):
        result = told.of(name)
        assert result["outcome"] == "failed"
        assert re.match(said, result["msg"]), result["msg"]
        assert "Traceback" not in json.dumps(result)


def run_with_a_liar(tmp_path, book, *arguments, modules_only=False, **lies):
    trap = tmp_path / "trap"
    with RunFleet(tmp_path, hosts=3) as fleet:
        liar = LyingHost(tmp_path / "liar")
        fleet.host_vars["web-0"].update(liar.host_vars)
        fleet.event_per_domain()
        liar.says(**{"merge": lies_about_everybody(trap), "modules_only": modules_only, **lies})
        command = ["ansible-playbook", "-i", str(fleet.inventory()), f"maintenance.azure.{book}", *arguments]
        told = run(tmp_path, command, 200, ANSIBLE_PIPELINING="1", PATH=liar.path(with_curl=False))
        again = run(tmp_path, ["ansible", "-i", str(fleet.inventory()), "all", "-m", "raw", "-a", "true"])
        return fleet, told, again, liar, trap


@pytest.mark.parametrize(
    "book",
    [
        pytest.param("collect", marks=pytest.mark.rest),
        pytest.param("report", marks=pytest.mark.rest),
        "drain_then_approve",
    ],
)
def test_every_playbook(tmp_path, book):
    fleet, told, _again, liar, trap = run_with_a_liar(tmp_path, book, *(("-e", "approve_wait_timeout=20"),)[0])
    assert len(liar.told()) >= 1
    assert not trap.exists(), told.output
    assert not [line for line in told.results if line["host"] == "victim"]
    if book == "drain_then_approve":
        # The others go through what is planned for them, with their own steps.
        assert {host for word, host, _at in fleet.notes() if word == "drain"} >= {"web-1", "web-2"}
        fleet.assert_one_domain_at_a_time()
        assert fleet.count("restore", "web-1") == fleet.count("drain", "web-1") == 1
