# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: its start-up lines, its errors, its end."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from helpers.simulator_process import PROGRAM, Simulator

MINIMAL = {"vms": [{"name": "a"}]}


def pythons():
    """Every Python 3.6 or newer that is found on the machine."""
    found = [*Path.home().glob(".pyenv/versions/3.*/bin/python3")]
    found += [Path(path) for n in range(6, 15) if (path := shutil.which(f"python3.{n}")) and "shims" not in path]
    usable = {str(path.resolve()): path for path in found if version_of(path) >= (3, 6)}
    return sorted(usable.values(), key=version_of) or [Path(sys.executable)]


def version_of(path):
    match = re.search(r"3\.(\d+)", str(path.resolve()))
    return (3, int(match.group(1))) if match else (0, 0)


def run(fleet, *arguments):
    """Runs the program to its end, with a fleet file of this text."""
    text = fleet if isinstance(fleet, str) else json.dumps(fleet)
    command = [sys.executable, str(PROGRAM), "--fleet", "-", "--port", "0", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=10, check=False)


@pytest.mark.parametrize("python", pythons(), ids=lambda path: ".".join(map(str, version_of(path))))
def test_it_runs_on_every_python_found(python):
    with Simulator(MINIMAL, python=str(python)) as simulator:
        event = simulator.add_event(type="Reboot", resources=["a"])
        assert simulator.approve("a", event["id"]).status == 200
        assert simulator.document("a")["Events"][0]["EventStatus"] == "Started"
        simulator.fault(kind="refuse", seconds=0.1)
        assert simulator.errors() == ""
        assert simulator.stop() == 0


def test_the_start_up_lines_name_every_vm_the_control_interface_and_ready(tmp_path):
    fleet = tmp_path / "fleet.json"
    fleet.write_text('{"vms":[{"name":"a"},{"name":"b","address":"127.0.0.1"}]}')
    process = subprocess.Popen(
        [sys.executable, str(PROGRAM), "--fleet", str(fleet), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        lines = [process.stdout.readline() for _time in range(4)]
    finally:
        process.terminate()
        process.wait(5)
        process.stdout.close()
    assert re.fullmatch(r"vm a http://127\.\d+\.\d+\.\d+:\d+\n", lines[0])
    assert re.fullmatch(r"vm b http://127\.0\.0\.1:\d+\n", lines[1])
    assert re.fullmatch(r"control http://127\.0\.0\.1:\d+\n", lines[2])
    assert lines[3] == "ready\n"
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_within_a_second_also_with_hanging_connections(number):
    with Simulator(MINIMAL) as simulator:
        simulator.fault(kind="hang")
        with pytest.raises(TimeoutError):
            simulator.read("a", timeout=0.1)
        silent = socket.create_connection(tuple(simulator.endpoint("a")[7:].split(":")), timeout=1)
        begin = time.monotonic()
        os.kill(simulator.process.pid, number)
        assert simulator.process.wait(5) == 0
        assert time.monotonic() - begin < 1
        assert simulator.errors() == ""
        silent.close()


def test_it_can_end_with_its_standard_input():
    with Simulator(MINIMAL) as simulator:
        simulator.process.stdin.close()
        assert simulator.process.wait(5) == 0


@pytest.fixture
def few_open_files():
    """The soft limit of open files that a login shell gives, only tighter."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("few_open_files")
def test_a_fleet_of_a_thousand_vms():
    fleet = {"vms": [{"name": f"vm-{n}", "group": f"group-{n // 50}"} for n in range(1000)]}
    with Simulator(fleet) as simulator:
        assert len(set(simulator.endpoints.values())) == 1000
        simulator.add_event(type="Freeze", resources=["vm-998"])
        assert len(simulator.document("vm-999")["Events"]) == 1
        assert simulator.document("vm-0")["Events"] == []


def test_settings_of_the_command_line_win_over_those_of_the_fleet_file():
    wanted = {
        "speed": 7,
        "first_call_seconds": 0.5,
        "events_after_seconds": 1,
        "off_after_seconds": 0,
        "requests_per_second": 9,
        "unknown_event_status": 404,
    }
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in wanted.items()]
    wanted.update(impact=True, api_versions=["2017-03-01", "2020-07-01"])
    arguments += ["--impact=on", "--api-versions=2017-03-01,2020-07-01"]
    with Simulator(MINIMAL, arguments=arguments, speed=60) as simulator:
        settings = simulator.state()["settings"]
    assert {name: settings[name] for name in wanted} == wanted


def test_events_of_the_fleet_file_are_there_from_the_start():
    fleet = {**MINIMAL, "events": [{"scenario": "live_migration", "resources": ["a"]}]}
    with Simulator(fleet) as simulator:
        assert simulator.document("a")["Events"][0]["EventType"] == "Freeze"


def test_hooks_run_when_an_event_starts_and_when_it_has_finished(tmp_path):
    about = "$SIM_EVENT_CHANGE $SIM_EVENT_TYPE $SIM_RESOURCES $SIM_DURATION"
    note = f'echo "{about}" >> "{tmp_path}/notes"'
    fleet = {"vms": [{"name": "a", "group": "g"}, {"name": "b", "group": "g"}]}
    with Simulator(fleet, arguments=["--on-start", note, "--on-finish", note]) as simulator:
        event = simulator.add_event(type="Freeze", resources=["a", "b"])
        simulator.approve("a", event["id"])
        wait_for_lines(tmp_path / "notes", 1)
        simulator.finish(event["id"])
        assert wait_for_lines(tmp_path / "notes", 2) == ["started Freeze a,b 5", "finished Freeze a,b 5"]


def wait_for_lines(path, count):
    for _time in range(200):
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= count:
            return lines
        time.sleep(0.02)
    raise AssertionError(f"{path} has {lines}")


def test_the_example_is_a_fleet_that_works():
    example = run("", "--example").stdout
    with Simulator(json.loads(example)) as simulator:
        assert simulator.endpoint("db-0").startswith("http://127.0.10.1:")


def test_help_names_every_option():
    text = run("", "--help").stdout
    for option in ("--fleet", "--port", "--control", "--speed", "--first-call-seconds", "--on-start", "SIM_EVENT_ID"):
        assert option in text


@pytest.mark.parametrize(
    ("fleet", "sentence"),
    [
        ("", "is not JSON"),
        ("{'vms': []}", "is not JSON"),
        ([], "the fleet must be an object"),
        ({}, '"vms" is missing'),
        ({"vms": []}, '"vms" is empty'),
        ({"vms": ["a"]}, r"vms\[0\] must be an object"),
        ({"vms": [{}]}, r'vms\[0\]: "name" is missing'),
        ({"vms": [{"name": 7}]}, r'vms\[0\]: "name" must be a text'),
        ({"vms": [{"name": "a", "colour": "red"}]}, r'vms\[0\]: unknown key "colour"; known keys are address, '),
        ({"vms": [{"name": "a"}, {"name": "a"}]}, 'two VMs are called "a"'),
        ({"vms": [{"name": "a", "group": "g"}, {"name": "A", "group": "g"}]}, 'two VMs of group "g" are called "A"'),
        ({"vms": [{"name": "a", "address": "here"}]}, '"here" is not an IP address'),
        ({"vms": [{"name": "a", "address": "127.0.0.9"}, {"name": "b", "address": "127.0.0.9"}]}, "same address"),
        ({"vms": [{"name": "a", "address": "192.0.2.1"}]}, "cannot listen on 192.0.2.1 port 0 for VM a"),
        ({"vms": [{"name": "a", "network_namespace": "/no/such"}]}, "network namespace /no/such for VM a: No such"),
        ({**MINIMAL, "groups": {"g": {"kind": "herd"}}}, '"kind" must be one of "availability_set"'),
        ({**MINIMAL, "settings": {"speed": 0}}, '"speed" must be a number greater than 0'),
        ({**MINIMAL, "settings": {"haste": 1}}, 'unknown key "haste"'),
        ({**MINIMAL, "events": [{"resources": ["a"]}]}, r'events\[0\]: "type"'),
        ({**MINIMAL, "events": [{"type": "Reboot", "resources": ["b"]}]}, 'no VM of the fleet is called "b"'),
        ({**MINIMAL, "more": 1}, 'unknown key "more"'),
    ],
    ids=repr,
)
def test_a_fleet_that_makes_no_sense_is_one_sentence_and_exit_code_2(fleet, sentence):
    ended = run(fleet)
    assert ended.returncode == 2
    assert re.search(sentence, ended.stderr)
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--control", "here"], "--control must be HOST:PORT"),
        (["--control", "127.0.0.1:99999"], "--control must be HOST:PORT"),
        (["--port", "70000"], "--port must be a port number"),
        (["--speed", "-1"], '"speed" must be a number greater than 0'),
        (["--speed", "nan"], '"speed" must be a number greater than 0'),
        (["--api-versions", "2020-07-01,2020-07-02"], '"api_versions" must be a list of api-versions'),
        (["--api-versions", ""], '"api_versions" must be a list of api-versions'),
        (["--fleet", "/no/such/file"], "cannot read the fleet file /no/such/file: No such file"),
    ],
)
def test_options_that_make_no_sense_are_one_sentence_and_exit_code_2(arguments, sentence):
    ended = run(MINIMAL, *arguments)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_a_port_in_use_is_one_sentence_and_exit_code_2():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ended = run({"vms": [{"name": "a", "address": "127.0.0.1"}]}, "--port", str(port))
    assert ended.returncode == 2
    assert ended.stderr == (
        f"metadata_simulator: cannot listen on 127.0.0.1 port {port} for VM a: Address already in use\n"
    )
