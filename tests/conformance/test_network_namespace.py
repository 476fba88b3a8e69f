# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One simulator for VMs in network namespaces of their own: each has the same address for itself."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys

import pytest

ADDRESS = "169.254.169.254"
ASK = f"""
import urllib.request
url = "http://{ADDRESS}/metadata/instance/compute/name?api-version=2021-02-01&format=text"
print(urllib.request.urlopen(urllib.request.Request(url, headers={{"Metadata": "true"}})).read().decode())
"""

pytestmark = [
    pytest.mark.rest,
    pytest.mark.once,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root and ip to make namespaces"),
]


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


def test_each_namespace_has_the_address_for_itself_and_refused_connections_come_back_in_it(start, namespaces):
    simulator = start(fleet_in(namespaces))
    assert [ask_inside(name).stdout.strip() for name in namespaces] == ["vm-0", "vm-1"]
    simulator.fault(kind="refuse", vm="vm-1")
    assert "Connection refused" in ask_inside(namespaces[1]).stderr
    assert ask_inside(namespaces[0]).stdout.strip() == "vm-0"
    simulator.clear_faults()
    assert ask_inside(namespaces[1]).stdout.strip() == "vm-1"
