# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half reads the simulator under every Python from 3.6 on that is found on this machine."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from helpers import ROOT
from helpers.simulator_process import Simulator
from tools.pythons import find_pythons

PLUGINS = ROOT / "plugins" / "module_utils"
APPROVAL = '{"StartRequests": [{"EventId": "A1"}]}'
PROGRAM = """
import json, sys
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
assert isinstance(_imds.endpoints_by_dhcp(), list)
answers = _imds.read_from([sys.argv[1]], "2020-07-01", True, 10)
sent = _imds.approve(sys.argv[1], "2020-07-01", answers["events"]["body"], sys.argv[2], 10)
print(json.dumps([answers, sent]))
"""


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def host_path(tmp_path_factory):
    """The collection's host half alone, as Ansible brings it to a host: nothing else of it can be imported."""
    root = tmp_path_factory.mktemp("host")
    folder = root / "ansible_collections" / "maintenance" / "azure" / "plugins"
    folder.mkdir(parents=True)
    (folder / "module_utils").symlink_to(PLUGINS)
    return root


@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_the_host_half_runs(version, simulator, host_path):
    simulator.reset()
    simulator.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
    simulator.fault(kind="error_503", count=1)
    process = subprocess.run(
        [find_pythons()[version], "-W", "error", "-B", "-c", PROGRAM, simulator.endpoint("web"), APPROVAL],
        env={**os.environ, "PYTHONPATH": str(host_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    answers, sent = json.loads(process.stdout)
    assert json.loads(answers["events"]["body"])["Events"][0]["EventId"] == "A1"
    assert json.loads(answers["instance"]["body"])["name"] == "web"
    assert sent["sent"]
    assert simulator.event("A1")["status"] == "Started"
