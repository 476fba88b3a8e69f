# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host takes a command and never answers, at each point of a run: it is named, and no other group waits for it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from helpers import transports
from helpers.fleet import RunFleet
from helpers.network import HangingHost

pytestmark = pytest.mark.waits(long=True)
SENT, RETURN, READ = '"approval": {', '"direction": "restore"', '"endpoints"'
POINTS = {
    "reading": {"at": READ},
    "lease": {"at": '"do": "take"'},
    "reading in the wave": {"at": READ, "after": '"do": "take"'},
    "drain": {"at": '"direction": "drain"'},
    "mark": {"at": '"state": "mark"', "host": "web-2"},
    "before the POST": {"at": SENT},
    "after the POST": {"at": SENT, "does": True},
    "wait": {"at": '"renewal"', "after": SENT},
    "return": {"at": RETURN},
    "record": {"at": '"do": "release"', "after": RETURN},
    "final reading": {"at": READ, "after": RETURN},
}
IN_MAKE_TEST = ("after the POST",)


def cases():
    for point in POINTS:
        yield pytest.param(point, "command", id=point, marks=() if point in IN_MAKE_TEST else pytest.mark.rest)
    for point in ("reading", "before the POST"):
        yield pytest.param(point, "plugin", id=f"{point}, in the plugin", marks=pytest.mark.rest)


@pytest.fixture
def fleet(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=2, group_per_domain=True) as built:
        yield built


def hanging(fleet, by="command", **known):
    host = HangingHost(fleet.folder / "hanging", **{"host": "web-0", "by": by, **known})
    for variables in fleet.host_vars.values():
        variables["ansible_connection"] = "hanging"
    tools = transports.play_keywords(fleet.folder, "command")["environment"]["PATH"]
    fleet.settings = {
        "ANSIBLE_CONNECTION_PLUGINS": str(host.folder),
        "PATH": os.pathsep.join([tools, str(Path(sys.executable).parent)]),
    }
    return host


def ran(fleet, host, *more, **environment):
    """Judge a run in which one host hangs: it is named, and the other group is served as ever."""
    times = {"drain_timeout": 20, "restore_timeout": 20, "maintenance_read_timeout": 15, "approve_wait_timeout": 300}
    arguments = [word for item in times.items() for word in ("-e", f"{item[0]}={item[1]}")]
    run = fleet.run(*arguments, *more, **environment)
    assert host.hangs, run.output
    assert fleet.approvals().count("E1") == 1, run.output
    assert [fleet.count(word, "web-1") for word in ("drain", "restore")] == [1, 1], run.output
    assert "web-1" not in fleet.drained_hosts()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
    return run


@pytest.mark.parametrize(("point", "by"), list(cases()))
def test_a_host_that_hangs_stops_its_own_group_alone(fleet, point, by):
    fleet.event_per_domain()
    host = hanging(fleet, by, **POINTS[point])
    run = ran(fleet, host)
    name = POINTS[point].get("host", "web-0")
    assert f"{name} took a command and gave no answer" in " ".join(run.output.split()), run.output


@pytest.mark.rest
@pytest.mark.parametrize("at", ['"folder"', '"claim"', '"act"', '"act".*"restore"'])
def test_a_load_balancer_that_hangs_stops_those_alone_who_need_it(fleet, at):
    fleet.event_per_domain()
    for number in (0, 1):
        upstream = fleet.folder / f"upstream-{number}.conf"
        upstream.write_text("upstream web {\n    server 127.0.0.1:8001;\n    server 127.0.0.1:8002;\n}\n")
        nginx = {"upstream_file": str(upstream), "server": "127.0.0.1:8001", "host": f"lb-{number}"}
        nginx.update(test_command=["/bin/true"], reload_command=["/bin/true"])
        steps = [{"load_balancer": {"nginx": nginx}}, fleet.noted_step(f"web-{number}")]
        fleet.host_vars[f"web-{number}"]["drain_steps"] = steps
        fleet.host_vars[f"lb-{number}"] = {"drain_records": str(fleet.folder / f"lb-{number}")}
    host = hanging(fleet, host="lb-0", at=at)
    limits = ("-e", "drain_timeout=60", "-e", "approve_wait_timeout=20")
    run = ran(fleet, host, "-e", "maintenance_hosts=web*", *limits)
    assert "lb-0 took a command and gave no answer" in " ".join(run.output.split()), run.output


@pytest.mark.rest
@pytest.mark.parametrize("half", ["drain", "restore"])
def test_a_task_of_the_user_that_hangs_ends_in_the_time_of_its_step(fleet, half):
    fleet.event_per_domain()
    halves = {name: str(fleet.folder / f"{name}-half.yml") for name in ("drain", "restore")}
    for name, path in halves.items():
        tasks = [{"name": "The user's", "ansible.builtin.command": f"echo {name}-by-hand"}]
        Path(path).write_text(json.dumps(tasks))
    fleet.host_vars["web-0"]["drain_steps"] = [fleet.noted_step("web-0"), {"tasks": halves}]
    host = hanging(fleet, at=r"AnsiballZ_command\.py", after=RETURN if half == "restore" else "")
    # Without pipelining Ansible removes a folder of its own on the host when a task has ended.
    ran(fleet, host, "-e", "approve_wait_timeout=20", ANSIBLE_PIPELINING="0", PATH=os.environ["PATH"])


@pytest.mark.rest
def test_a_service_that_is_being_switched_on_is_unread_in_one_pass_and_read_in_the_next(tmp_path):
    """The first request takes an hour, which passes in the drain of the other group."""
    slow = {"first_call_seconds": 3600, "empty_while_switching_on": True}
    with RunFleet(tmp_path, hosts=3, domains=2, group_per_domain=True, **slow) as fleet:
        with pytest.raises(TimeoutError):
            fleet.simulator.read("web-1", timeout=1)
        fleet.simulator.advance(3600)
        fleet.event_per_domain(notice=7200)
        an_hour_passes = {"command": {"drain": fleet.control_command("/clock", {"advance": 3600})}}
        fleet.host_vars["web-1"]["drain_steps"] = [an_hour_passes, fleet.noted_step("web-1")]
        run = fleet.run("-e", "maintenance_read_timeout=15").ended()
        first_pass = " ".join(run.output.partition("PLAY [Return to service")[0].split())
        for host in ("web-0", "web-2"):
            assert f"nothing is known about 1 host: {host}." in first_pass, run.output
        assert list(fleet.approved_at()) == ["E1", "E0"]
        fleet.assert_nothing_approved_before_its_hosts_were_drained()
        fleet.assert_restored_only_after_the_end()
        fleet.assert_back_to_normal()
