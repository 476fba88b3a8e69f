# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half travels by curl, as one command or as a module: the answers are the same."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from helpers import transports as ways
from helpers.ansible_run import comparable_result, fleet_inventory, inventory, play
from helpers.network import unreachable_host
from helpers.simulator_process import Simulator
from helpers.sshd_process import SSHD, sshd

pytestmark = pytest.mark.rest


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        yield fleet


@pytest.fixture(autouse=True)
def fresh(simulator):
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)


STEPS = (
    {"name": "Read", "maintenance.azure.scheduled_event_info": {}},
    {
        "name": "Auto",
        "maintenance.azure.scheduled_event_info": {"endpoint": "auto", "timeout": 1},
        "ignore_errors": True,
    },
    {"name": "Approve", "maintenance.azure.scheduled_event_approve": {}},
    {"name": "Again", "maintenance.azure.scheduled_event_approve": {}},
    {"name": "Fail", "maintenance.azure.scheduled_event_info": {"endpoint": "http://127.0.0.1:1", "timeout": 1}},
)


def run_by(way, folder, simulator, *tasks, arguments=()):
    hosts = fleet_inventory(folder, simulator, **ways.host_vars(folder, way))
    return play(folder, hosts, *tasks, arguments=arguments, **ways.play_keywords(folder, way))


def test_the_same_answers_all_ways(tmp_path, simulator):
    outcomes = {}
    for way in ways.HERE:
        simulator.reset()
        simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600)
        run = run_by(way, tmp_path, simulator, *STEPS)
        outcomes[way] = {name: comparable_result(run.of(name)) for name in ("Read", "Approve", "Again")}
        for name in ("Auto", "Fail"):
            failure = run.of(name)
            outcomes[way][name] = [failure[key] for key in ("outcome", "kind", "status")]
        # Three tasks within a second may meet the service's limit, and then send again what was turned away.
        assert [line["approved"] for line in simulator.log() if line["method"] == "POST" and line["status"] == 200] == [
            ["A1"]
        ]
        told_as = {line["headers"].get("User-Agent", "").split("/")[0] for line in simulator.log()}
        assert told_as == ({"curl"} if way == "curl" else {""})
    for way in ways.HERE:
        assert outcomes[way] == outcomes["module"]


@pytest.mark.parametrize("way", ways.TO_THE_SERVICE)
def test_a_proxy_of_the_environment_is_not_asked(tmp_path, simulator, way):
    hosts = fleet_inventory(tmp_path, simulator, **ways.host_vars(tmp_path, way))
    environment = ways.play_keywords(tmp_path, way).get("environment", {})
    proxies = {
        "http_proxy": "http://127.0.0.1:9",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }
    run = play(tmp_path, hosts, STEPS[0], environment={**environment, **proxies})
    assert run.of("Read")["events"][0]["id"] == "A1"


@ways.needs_curl
def test_an_endpoint_is_no_shell_word(tmp_path, simulator):
    trap = tmp_path / "trap"
    endpoint = f"http://127.0.0.1';touch${{IFS}}{trap.name};'"
    task = {"name": "Read", "maintenance.azure.scheduled_event_info": {"endpoint": endpoint, "timeout": 2}}
    run = run_by("curl", tmp_path, simulator, task)
    assert run.of("Read")["outcome"] == "failed"
    assert not list(tmp_path.rglob(trap.name))


@ways.needs_curl
def test_settings_of_the_user_s_curl_do_not_count(tmp_path, simulator):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".curlrc").write_text('proxy = "http://127.0.0.1:9"\nuser-agent = "mine"\n')
    assert run_by("curl", tmp_path, simulator, STEPS[0]).of("Read")["events"][0]["id"] == "A1"


def test_a_command_line_that_would_be_too_long_becomes_a_module(tmp_path, simulator):
    # Text that does not shrink: the document is sent along with the approval.
    simulator.reset()
    noise = "".join(chr(0x4E00 + (number * 7919) % 20000) for number in range(60000))
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000, dwell=600, description=noise)
    run = run_by("command", tmp_path, simulator, STEPS[2])
    assert run.of("Approve")["approved"] == ["A1"]


def assert_python_is_missed(result):
    assert result["msg"].startswith("web needs Python 3.6 or newer, and none could be run there (")
    assert "/nonexistent/python3" in result["msg"]
    assert result["msg"].endswith("): install it, or set ansible_python_interpreter to its path")


def test_neither_curl_nor_python(tmp_path, simulator):
    hosts = fleet_inventory(tmp_path, simulator, **ways.host_vars(tmp_path, "curl"))
    run = play(tmp_path, hosts, {**STEPS[0], "ignore_errors": True}, **ways.play_keywords(tmp_path, "command"))
    assert_python_is_missed(run.of("Read"))


@ways.needs_curl
def test_a_host_without_python_can_be_read_and_approved_and_no_more(tmp_path, simulator):
    wait = {"name": "Wait", "maintenance.azure.scheduled_event_wait": {"event_ids": ["A1"], "wait_timeout": 1}}
    drain = {"name": "Drain", "block": [{"include_role": {"name": "maintenance.azure.drain"}}], "rescue": []}
    others = [{**task, "failed_when": False} for task in (STATE, LOOK, LOCK, wait)]
    variables = {**ways.host_vars(tmp_path, "curl"), **DRAINED_BY, "drain_journal": JOURNAL}
    run = play(tmp_path, fleet_inventory(tmp_path, simulator, **variables), STEPS[0], STEPS[2], *others, drain)
    assert run.of("Read")["events"][0]["id"] == "A1"
    assert run.of("Approve")["approved"] == ["A1"]
    for name in ("State", "Look", "Lock"):
        assert_python_is_missed(run.of(name))
    assert "web needs Python 3.6 or newer" in run.of("Wait")["msg"]
    assert_python_is_missed([line["result"] for line in run.results if line["outcome"] == "failed"][-1])
    assert not (tmp_path / "j").exists()


def test_a_shell_that_talks_does_not_disturb(tmp_path, simulator):
    talkative = tmp_path / "python3"
    talkative.write_text(f'#!/bin/sh\necho "Welcome to {{{{ this }}}} machine"\nexec {sys.executable} "$@"\n')
    talkative.chmod(0o755)
    hosts = fleet_inventory(tmp_path, simulator, ansible_python_interpreter=str(talkative))
    run = play(tmp_path, hosts, STEPS[0], **ways.play_keywords(tmp_path, "command"))
    assert run.of("Read")["events"][0]["id"] == "A1"


def test_delegated_to_a_host_with_another_python(tmp_path, simulator):
    """Where the one that is delegated to has its own interpreter, that is the one that is asked."""
    for way in ("command", "module"):
        hosts = {"web": {"ansible_python_interpreter": "/nonexistent/python3"}, "other": ways.host_vars(tmp_path, way)}
        hosts = {name: {**own, "maintenance_endpoint": simulator.endpoint("web")} for name, own in hosts.items()}
        task = {**STEPS[0], "delegate_to": "other"}
        run = play(tmp_path, inventory(tmp_path, hosts), task, hosts="web", **ways.play_keywords(tmp_path, way))
        assert run.of("Read", "web")["events"][0]["id"] == "A1"


JOURNAL = "{{ inventory_dir }}/j/journal.json"
DRAINED_BY = {
    "drain_steps": [
        {"command": {"drain": "true", "restore": "true"}},
        {"command": {"drain": ["sh", "-c", "echo $MARKED > marked"], "restore": ["sh", "-c", "exit 5"]}},
    ]
}
DRAIN = {
    "name": "Drain",
    "maintenance.azure._drain": {"do": "drain", "journal": JOURNAL},
    "vars": DRAINED_BY,
}
RESTORE = {
    "name": "Restore",
    "maintenance.azure._drain": {"do": "restore", "journal": JOURNAL},
    "vars": DRAINED_BY,
}
LOOK = {"name": "Look", "maintenance.azure.drain_journal": {"path": JOURNAL}}
TAKE = {"do": "take", "run_id": "r", "path": "{{ inventory_dir }}/run.lock"}
LOCK = {"name": "Lock", "maintenance.azure.lease": TAKE}


def without_moments(value):
    moments = ("seconds", "begun_at", "deadline", "started_at", "drained_at", "ended_at", "now", "run_id", "good_until")
    if isinstance(value, dict):
        return {key: without_moments(item) for key, item in value.items() if key not in (*moments, "invocation")}
    if isinstance(value, list):
        return [without_moments(item) for item in value]
    return value


def test_what_keeps_a_journal_or_a_lock_does_the_same_both_ways(tmp_path):
    outcomes = {}
    for way in ways.TO_PYTHON:
        folder = tmp_path / way
        folder.mkdir()
        tasks = [LOCK, DRAIN, LOOK, {**RESTORE, "ignore_errors": True}, {**LOOK, "name": "After"}]
        environment = {**ways.play_keywords(tmp_path, way)["environment"], "MARKED": "by the environment"}
        environment["PATH"] += ":/usr/bin:/bin"
        hosts = inventory(folder, {"web": ways.host_vars(tmp_path, way)})
        run = play(folder, hosts, *tasks, environment=environment)
        assert run.of("Restore")["outcome"] == "failed"
        assert "step 2 (command) failed: sh ended with exit code 5" in run.of("Restore")["msg"]
        results = {name: without_moments(run.of(name)) for name in ("Drain", "Look", "Restore", "After")}
        outcomes[way] = json.loads(json.dumps(results).replace(str(folder), "FOLDER"))
        outcomes[way]["lock"] = [run.of("Lock")[key] for key in ("held", "changed", "renewed", "notes")]
        assert (folder / "marked").read_text() == "by the environment\n"
    assert outcomes["command"] == outcomes["module"]


@pytest.mark.skipif(SSHD is None, reason="no sshd on this machine: install openssh-server")
def test_a_secret_of_a_step_is_in_no_command_line(tmp_path):
    """A command is seen by everybody on the host, and in the log of sudo; what is piped into it is not."""
    seen = tmp_path / "seen"
    recorder = tmp_path / "recorder"
    recorder.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$SSH_ORIGINAL_COMMAND" >> {seen}\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n'
    )
    recorder.chmod(0o755)
    steps = [{"command": {"drain": ["sh", "-c", "true # s3cr3t"]}}]
    task = {**DRAIN, "vars": {"drain_steps": steps}}
    with sshd(tmp_path, force_command=str(recorder)) as host_vars:
        run = play(tmp_path, inventory(tmp_path, {"web": host_vars}), task)
    assert run.of("Drain")["state"] == "drained"
    commands = seen.read_text()
    # One command: it did not go the way of modules, which would say nothing about this one.
    assert commands.count("-S -c") == 1
    assert "ansible-tmp" not in commands
    packed = [word for word in commands.split() if len(word) > 1000]
    unpacked = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys,zlib,binascii;print(zlib.decompress(binascii.a2b_base64(sys.argv[1])))",
            packed[0],
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "carried_out" in unpacked
    assert "s3cr3t" not in commands + unpacked


STATE = {"name": "State", "maintenance.azure._read": {"do": "hosts", "journal": JOURNAL}, "failed_when": False}


def test_one_task_tells_what_is_planned_and_what_the_journal_says_whatever_one_of_them_complains_of(
    tmp_path, simulator
):
    hosts = fleet_inventory(tmp_path, simulator)
    request = {"path": JOURNAL, "state": "begin", "run_id": "r", "events": []}
    begin = {"name": "Begin", "maintenance.azure._host_command": {"name": "journal", "request": request}}
    run = play(tmp_path, hosts, STATE, begin, {**STATE, "name": "Open"})
    assert (run.of("State")["journal"], run.of("State")["journal_problem"]) == (None, "")
    assert [event["id"] for event in run.of("Open")["events"]] == ["A1"]
    assert run.of("Open")["journal"]["state"] == "draining"
    simulator.fault(kind="html", path="scheduledevents")
    state = play(tmp_path, hosts, STATE).of("State")
    assert ("events" in state, "HTML" in state["msg"], state["journal"]["run_id"]) == (False, True, "r")
    simulator.clear_faults()
    (tmp_path / "j" / "journal.json").write_text("nonsense")
    state = play(tmp_path, hosts, STATE).of("State")
    assert (state["journal"], state["events"][0]["id"]) == (None, "A1")
    assert "can't be understood" in state["journal_problem"]
    away = fleet_inventory(tmp_path, simulator, **unreachable_host(tmp_path))
    assert play(tmp_path, away, STATE, ignore_unreachable=True).of("State")["unreachable"] is True
