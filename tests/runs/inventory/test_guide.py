# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every example of docs/inventory.md is run, and says what the guide says that it does."""

from __future__ import annotations

import json
import re
import shlex
import sys

import pytest
from helpers import ROOT
from helpers.ansible_run import run
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest
GUIDE = ROOT / "docs" / "inventory.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
ADDRESSES = {"http://10.1.0.4:8080": "web-0", "http://10.1.0.5:8080": "web-1"}


def azure_rm_host(name, group):
    vm = f"/subscriptions/s/resourceGroups/{group}/providers/Microsoft.Compute/virtualMachines/{name}"
    return {"name": name, "computer_name": name, "resource_group": group, "id": vm}


# What the real plugin would give, as it can't be run without Azure.
AZURE_RM = {
    "all": {
        "hosts": {
            "web-0_4c11": azure_rm_host("web-0", "rg-web"),
            "web-1_d2c3": azure_rm_host("web-1", "rg-web"),
            "web-2_0b5e": azure_rm_host("web-2", "rg-web"),
            "web-3_9e0f": azure_rm_host("web-3", "rg-web"),
            "db-0_77aa": azure_rm_host("db-0", "rg-db"),
        }
    }
}


def sections():
    """The guide's sections: their commands, each with the files that are there by then and the lines it must print."""
    files: dict[str, str] = {}
    found = []
    for section in GUIDE.read_text(encoding="utf-8").split("\n## "):
        blocks = BLOCK.findall(section)
        # The very first command stands before its files.
        blocks = blocks if found else blocks[1:3] + blocks[:1] + blocks[3:]
        steps = []
        for language, content in blocks:
            if language == "console":
                for part in content.split("$ ")[1:]:
                    command, _end, expected = part.partition("\n")
                    steps.append((dict(files), command, expected.splitlines()))
            elif content.startswith("# "):
                title, _end, body = content.partition("\n")
                files[title.removeprefix("# ")] = body
        if steps:
            found.append(pytest.param(steps, id=section.splitlines()[0].strip("# ")))
    return found


@pytest.fixture(scope="module")
def fleet():
    group = {"web": {"kind": "availability_set", "resource_group": "rg-web", "subscription_id": "s"}}
    vms = [{"name": f"web-{n}", "group": "web"} for n in range(4)]
    with Simulator({"groups": group, "vms": vms}, requests_per_second=0) as simulator:
        simulator.document("web-0")
        simulator.add_event(type="Reboot", resources=["web-1", "web-2"])
        yield simulator


def write(folder, fleet, files):
    for name, text in files.items():
        for address, vm in ADDRESSES.items():
            text = text.replace(address, fleet.endpoint(vm))
        if name == "azure_rm.yml":
            assert "plugin: azure.azcollection.azure_rm" in text
            text = json.dumps(AZURE_RM)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "group_vars").mkdir(exist_ok=True)
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    (folder / "group_vars" / "all.yml").write_text(json.dumps(local))


@pytest.mark.parametrize("steps", sections())
def test_the_examples_of_a_section_do_what_it_says(tmp_path, fleet, steps):
    for files, command, expected in steps:
        assert expected, "an example shows what it prints"
        write(tmp_path, fleet, files)
        settings = {"ANSIBLE_CONFIG": str(tmp_path / "ansible.cfg")} if "ansible.cfg" in files else {}
        # One at a time, so that hosts answer in their order.
        done = run(tmp_path, shlex.split(command), ANSIBLE_FORKS="1", **settings).ended()
        printed = iter(done.output.splitlines())
        for line in expected:
            assert any(line.rstrip() == there.rstrip() for there in printed), f"no {line!r} in {done.output}"


def test_the_guide_has_examples():
    assert len(sections()) >= 6
