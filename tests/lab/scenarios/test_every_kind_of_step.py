# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drain and a restore with every kind of step that can run here, each against the real thing."""

from __future__ import annotations

import json

import pytest
from lab import controller, haproxy, patroni
from lab.machine import FILES
from lab.names import WEB
from lab.shell import wait_until

HERE = FILES / "every_kind"
UPSTREAM = "/etc/nginx/conf.d/web.conf"
UNIT = "[Service]\nExecStart=/bin/sleep infinity\n"


@pytest.fixture
def pair(fleet):
    patroni.start(fleet)
    yield
    patroni.stop(fleet)


@pytest.fixture
def second_balancer(fleet):
    servers = "".join(f"    server {place.address}:80;\n" for place in WEB)
    fleet.balancer.write(UPSTREAM.lstrip("/"), f"upstream web {{\n{servers}}}\n")
    fleet.balancer.write("etc/nginx/sites-enabled/lab", (FILES / "nginx-balancer.conf").read_text())
    fleet.balancer.run("systemctl", "start", "nginx")
    yield
    fleet.balancer.run("systemctl", "stop", "nginx")


def steps(machine):
    at = machine.place.address
    return [
        {"log": {"message": "lab begins", "restore_message": "lab ends"}},
        {"load_balancer": {"haproxy": {"backend": "web", "server": machine.name, "host": "lb1", "wait_sessions": 0}}},
        {"load_balancer": {"nginx": {"upstream_file": UPSTREAM, "server": f"{at}:80", "host": "lb1"}}},
        {"load_balancer": {"probe_file": {"path": "/srv/www/probe"}}},
        {"connections": {"ports": [80], "at_most": 0}},
        {"checkpoint": {"command": "cp /srv/state /srv/state.saved", "restore": "mv /srv/state.saved /srv/state"}},
        {"failover": {"patroni": {"cluster": "pg", "switch_back": True}}},
        {
            "failover": {
                "command": "touch /srv/handed-over",
                "restore_command": "rm /srv/handed-over",
                "check": "test -e /srv/handed-over",
            }
        },
        {"command": {"drain": ["touch", "/srv/left by command"], "restore": ["rm", "/srv/left by command"]}},
        {"tasks": {"drain": "tasks/leave.yml", "restore": "tasks/join.yml"}},
        {"ring": {"path": "/srv/ring"}},
        {"services": {"names": ["nginx", "worker", "sleeper"]}},
    ]


def active(machine, *units):
    return machine.run("sh", "-c", f"systemctl is-active {' '.join(units)} || true").split()


def seen(fleet, machine):
    """What there is to see of each step, on the machines and never in the play."""
    disk = machine.root / "srv"
    upstream = (fleet.balancer.root / UPSTREAM.lstrip("/")).read_text()
    return {
        "haproxy": haproxy.statuses(fleet.balancer)[machine.name].split()[0],
        "nginx upstream": "down" if f"server {machine.place.address}:80 down;" in upstream else "up",
        "probe file": (disk / "www/probe").exists(),
        "checkpoint": (disk / "state.saved").exists(),
        "leads by Patroni": patroni.leader(fleet) == machine.name,
        "failover command": (disk / "handed-over").exists(),
        "command": (disk / "left by command").exists(),
        "tasks": (disk / "left-by-tasks").exists(),
        "kind of the user's own": (disk / "ring").exists(),
        "services": active(machine, "nginx", "worker", "sleeper"),
    }


def test_every_kind_of_step(fleet, pair, second_balancer, evidence, figures):
    machine = fleet.machines[patroni.leader(fleet)]
    other = fleet.machines[next(name for name in patroni.PAIR if name != machine.name)]
    for name in ("www/probe", "state", "ring"):
        machine.write(f"srv/{name}", f"{name}\n")
    for unit in ("worker", "sleeper"):
        machine.write(f"etc/systemd/system/{unit}.service", UNIT)
    machine.run("systemctl", "daemon-reload")
    # The one that sleeps before we come is not to be woken by us.
    machine.run("systemctl", "start", "worker")
    assert (patroni.takes_writes(machine), patroni.takes_writes(other)) == (True, False)
    before = seen(fleet, machine)
    variables = {"drained_host": machine.name, "drain_steps": steps(machine), "drain_steps_path": [str(HERE / "kinds")]}

    drained = controller.run("every-kind-drain", book=str(HERE / "drain.yml"), **variables)
    assert drained.code == 0, drained.output
    assert seen(fleet, machine) == {
        "haproxy": "DRAIN",
        "nginx upstream": "down",
        "probe file": False,
        "checkpoint": True,
        "leads by Patroni": False,
        "failover command": True,
        "command": True,
        "tasks": True,
        "kind of the user's own": False,
        "services": ["inactive", "inactive", "inactive"],
    }
    assert (patroni.takes_writes(machine), patroni.takes_writes(other)) == (False, True)

    restored = controller.run("every-kind-restore", book=str(HERE / "restore.yml"), **variables)
    assert restored.code == 0, restored.output
    wait_until(lambda: seen(fleet, machine) == before, "all is as before", 30, 1)
    assert (patroni.takes_writes(machine), patroni.takes_writes(other)) == (True, False)
    said = [text for _at, text in evidence.journal(machine, "SYSLOG_IDENTIFIER=azure-maintenance")]
    recorded = [json.loads(text)["what"] for text in said if text.startswith("{")]
    assert [text for text in said if not text.startswith("{")] == ["lab begins", "lab ends"]
    assert recorded == ["drain begins", "drained", "returned to service"]
    answers = evidence.answers()
    assert answers.failed == []
    kinds = [next(iter(step)) for step in steps(machine)]
    figures.add(
        "every kind of step",
        f"{len(kinds)} steps ({', '.join(dict.fromkeys(kinds))}) done and undone, Patroni there and back; {answers}",
    )
