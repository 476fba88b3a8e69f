# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host takes a command and never answers, at each point of a run: it is named, and no other group waits for it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from helpers import transports
from helpers.fleet import RollFleet
from helpers.network import HangingHost

pytestmark = pytest.mark.waits
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
IN_MAKE_TEST = ("wait",)


def cases():
    for point in POINTS:
        yield pytest.param(point, "command", id=point, marks=() if point in IN_MAKE_TEST else pytest.mark.rest)
    for point in ("reading", "before the POST"):
        yield pytest.param(point, "plugin", id=f"{point}, in the plugin", marks=pytest.mark.rest)


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=3, domains=2, group_per_domain=True) as built:
        yield built


def hanging(fleet, point, by):
    known = POINTS[point]
    host = HangingHost(fleet.folder / "hanging", **{"host": "web-0", "by": by, **known})
    for variables in fleet.host_vars.values():
        variables["ansible_connection"] = "hanging"
    tools = transports.play_keywords(fleet.folder, "command")["environment"]["PATH"]
    fleet.settings = {
        "ANSIBLE_CONNECTION_PLUGINS": str(host.folder),
        "PATH": os.pathsep.join([tools, str(Path(sys.executable).parent)]),
    }
    return host, known.get("host", "web-0")


@pytest.mark.parametrize(("point", "by"), list(cases()))
def test_a_host_that_hangs_stops_its_own_group_alone(fleet, point, by):
    fleet.event_per_domain()
    host, name = hanging(fleet, point, by)
    times = {"drain_timeout": 20, "restore_timeout": 20, "maintenance_read_timeout": 15, "approve_wait_timeout": 300}
    run = fleet.roll(*(word for item in times.items() for word in ("-e", f"{item[0]}={item[1]}")))
    assert host.hangs, run.output
    assert f"{name} took a command and gave no answer" in " ".join(run.output.split()), run.output
    assert fleet.approvals().count("E1") == 1, run.output
    assert [fleet.count(word, "web-1") for word in ("drain", "restore")] == [1, 1], run.output
    assert "web-1" not in fleet.drained_hosts()
    fleet.assert_nothing_approved_before_its_hosts_were_drained()
