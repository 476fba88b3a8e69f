# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: its start-up lines, its errors, its end, network namespaces; and the guide that describes it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys

import pytest
from helpers.simulator_inside import part
from helpers.simulator_process import PROGRAM, Simulator, SimulatorControl
from helpers.waiting import wait_until
from tools.pythons import find_pythons

pytestmark = pytest.mark.rest
MINIMAL = {"vms": [{"name": "a"}]}
TABLES = ["FAULT_KINDS", "STATUS_FAULTS", "SCENARIOS", "EVENT_RULES", "GROUP_RULES", "VM_RULES", "SETTING_RULES"]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PROGRAM.glob("*.py")))
GUIDE = (PROGRAM.parents[3] / "docs" / "simulator.md").read_text(encoding="utf-8")


def run(fleet, *arguments):
    """Run the program to its end, with a fleet file of this text."""
    text = fleet if isinstance(fleet, str) else json.dumps(fleet)
    command = [sys.executable, str(PROGRAM), "--fleet", "-", "--port", "0", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", [version for version in find_pythons() if int(version.split(".")[1]) >= 6])
def test_it_runs_on_every_python_found(version):
    with Simulator(MINIMAL, python=find_pythons()[version]) as simulator:
        event = simulator.add_event(type="Reboot", resources=["a"])
        assert simulator.approve("a", event["id"]).status == 200
        assert simulator.document("a")["Events"][0]["EventStatus"] == "Started"
        simulator.fault(kind="refuse", seconds=0.1)
        assert simulator.errors() == ""
        assert simulator.stop() == 0


def test_the_start_up_lines_name_every_vm_the_control_interface_and_ready(tmp_path):
    """And without an option it is as slow and as rough as Azure may be."""
    fleet = tmp_path / "fleet.json"
    fleet.write_text('{"vms":[{"name":"a"},{"name":"b","address":"127.0.0.1"}]}')
    command = [sys.executable, str(PROGRAM), "--fleet", str(fleet), "--port", "0", "--stop-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _time in range(4)]
        assert re.fullmatch(r"vm a http://127\.\d+\.\d+\.\d+:\d+\n", lines[0])
        assert re.fullmatch(r"vm b http://127\.0\.0\.1:\d+\n", lines[1])
        assert re.fullmatch(r"control http://127\.0\.0\.1:\d+\n", lines[2])
        assert lines[3] == "ready\n"
        assert SimulatorControl(lines[2].split()[1]).state()["profile"] == "azure"
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_cleanly_also_with_hanging_and_silent_connections(number):
    with Simulator(MINIMAL) as simulator:
        simulator.fault(kind="hang")
        with pytest.raises(TimeoutError):
            simulator.read("a", timeout=0.1)
        with socket.create_connection(tuple(simulator.endpoint("a")[7:].split(":"))):
            os.kill(simulator.process.pid, number)
            assert simulator.process.wait(60) == 0
        assert simulator.errors() == ""


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


def test_settings_of_the_command_line_win_over_those_of_the_fleet_file_and_these_over_the_profile():
    wanted = {
        "speed": 7,
        "first_call_seconds": 0.5,
        "off_after_seconds": 0,
        "requests_per_second": 9,
        "unknown_event_status": 404,
        "unknown_version_status": 404,
        "platform_reboot_seconds": 11,
        "domain_pause_seconds": 12,
    }
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in wanted.items()]
    wanted.update(impact=False, api_versions=["2017-03-01", "2020-07-01"], events_after_seconds=8)
    arguments += ["--impact=off", "--api-versions=2017-03-01,2020-07-01"]
    with Simulator(profile="azure", arguments=arguments, speed=60, events_after_seconds=8) as simulator:
        settings = simulator.state()["settings"]
    assert {name: settings[name] for name in wanted} == wanted


def test_hooks_run_when_an_event_starts_and_when_it_has_finished(tmp_path):
    notes = tmp_path / "notes"
    note = f'echo "$SIM_EVENT_CHANGE $SIM_EVENT_TYPE $SIM_RESOURCES $SIM_IMPACT $SIM_IMPACT_SECONDS" >> "{notes}"'
    fleet = {"vms": [{"name": "a", "group": "g"}, {"name": "b", "group": "g"}]}
    with Simulator(fleet, impact=False, arguments=["--on-start", note, "--on-finish", note]) as simulator:
        event = simulator.add_event(type="Freeze", resources=["a", "b"])["id"]
        simulator.approve("a", event)
        wait_until(lambda: notes.exists() and notes.read_text() == "started Freeze a,b frozen 5\n")
        simulator.finish(event)
        wait_until(lambda: notes.read_text().endswith("\nfinished Freeze a,b frozen 5\n"))


def test_the_example_is_a_fleet_that_works():
    example = run("", "--example").stdout
    with Simulator(json.loads(example)) as simulator:
        assert simulator.endpoint("db-0").startswith("http://127.0.10.1:")


@pytest.mark.parametrize(
    ("fleet", "arguments", "sentence"),
    [
        ("{'vms': []}", [], "is not JSON"),
        ({"vms": [{"name": "a"}, {"name": "a"}]}, [], 'two VMs are called "a"'),
        ({"vms": [{"name": "a", "address": "192.0.2.1"}]}, [], "cannot listen on 192.0.2.1 port 0 for VM a"),
        ({"vms": [{"name": "a", "network_namespace": "/no/such"}]}, [], "network namespace /no/such for VM a: No such"),
        ({**MINIMAL, "events": [{"resources": ["a"]}]}, [], 'events[0]: "type"'),
        (MINIMAL, ["--control", "here"], "--control must be HOST:PORT"),
        (MINIMAL, ["--control", "127.0.0.1:99999"], "--control must be HOST:PORT"),
        (MINIMAL, ["--port", "70000"], "--port must be a port number"),
        (MINIMAL, ["--speed", "nan"], '"speed" must be a number greater than 0'),
        (MINIMAL, ["--api-versions", ""], '"api_versions" must be a list of api-versions'),
        (MINIMAL, ["--fleet", "/no/such/file"], "cannot read the fleet file /no/such/file: No such file"),
    ],
)
def test_what_makes_no_sense_is_one_sentence_and_exit_code_2(fleet, arguments, sentence):
    ended = run(fleet, *arguments)
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert sentence in ended.stderr


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


# The guide.


def names_after(pattern, text):
    return set(re.findall(pattern, text, re.MULTILINE))


@pytest.mark.parametrize("table", TABLES)
def test_the_guide_names_all_that_the_program_knows(table):
    body = re.search(rf"^{table} = (.*?)^[}})]", SOURCE, re.MULTILINE | re.DOTALL).group(1)
    names = names_after(r'^    "([a-z_0-9]+)":', body) if "{" in body[:2] else names_after(r'"([a-z_0-9]+)"', body)
    assert len(names) > 4
    assert {name for name in names if f"`{name}`" not in GUIDE} == set()


def test_the_guide_names_every_option_and_endpoint():
    options = names_after(r'add_argument\(\s*"(--[a-z-]+)"', SOURCE)
    endpoints = {path.strip("^$") for path in names_after(r'\("(?:GET|POST|DELETE)", r"\^(/[a-z]+)\$"', SOURCE)}
    assert len(options) > 10
    assert len(endpoints) > 5
    assert {word for word in options | endpoints if word not in GUIDE} == set()


def test_the_guide_has_a_line_for_each_difference_of_the_profiles():
    table = re.search(r"\| setting \| `azure` \| `quick` \|.*?\n\n", GUIDE, re.DOTALL).group(0)
    lines = re.findall(r"^\| `(\w+)` \| `(.*?)`.*? \| `(.*?)`.*? \|$", table, re.MULTILINE)
    azure, quick = (part("settings").PROFILES[name] for name in ("azure", "quick"))
    differences = {name: (azure[name], quick[name]) for name in azure if azure[name] != quick[name]}
    assert {name: (json.loads(first), json.loads(second)) for name, first, second in lines} == differences


ADDRESS = "169.254.169.254"
ASK = f"""
import urllib.request
url = "http://{ADDRESS}/metadata/instance/compute/name?api-version=2021-02-01&format=text"
print(urllib.request.urlopen(urllib.request.Request(url, headers={{"Metadata": "true"}})).read().decode())
"""


@pytest.fixture
def start(over_http):
    return over_http


@pytest.fixture
def namespaces():
    names = [f"simulator-{os.getpid()}-{number}" for number in range(2)]
    with contextlib.ExitStack() as stack:
        for name in names:
            if subprocess.run(["ip", "netns", "add", name], check=False).returncode:
                pytest.skip("no network namespace can be made here")
            stack.callback(subprocess.run, ["ip", "netns", "del", name], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", "lo", "up"], check=True)
            subprocess.run(["ip", "-n", name, "addr", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        yield names


def ask_inside(namespace):
    command = ["ip", "netns", "exec", namespace, sys.executable, "-c", ASK]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def fleet_in(namespaces):
    return {
        "vms": [
            {"name": f"vm-{number}", "address": ADDRESS, "port": 80, "network_namespace": f"/run/netns/{name}"}
            for number, name in enumerate(namespaces)
        ]
    }


@pytest.mark.once
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip to make namespaces")
def test_each_namespace_has_the_address_for_itself_and_refused_connections_come_back_in_it(start, namespaces):
    simulator = start(fleet_in(namespaces))
    assert [ask_inside(name).stdout.strip() for name in namespaces] == ["vm-0", "vm-1"]
    simulator.fault(kind="refuse", vm="vm-1")
    assert "Connection refused" in ask_inside(namespaces[1]).stderr
    assert ask_inside(namespaces[0]).stdout.strip() == "vm-0"
    simulator.clear_faults()
    assert ask_inside(namespaces[1]).stdout.strip() == "vm-1"
