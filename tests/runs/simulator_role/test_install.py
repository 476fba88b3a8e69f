# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role that installs the simulator, up to the start of its service, for which there is no systemd here."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from helpers.ansible_run import inventory, play
from helpers.simulator_process import PROGRAM

pytestmark = [
    # Ansible copies a folder file by file, each with two modules.
    pytest.mark.rest,
    pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root, so it needs root"),
]


@pytest.fixture
def install(tmp_path):
    """A function that runs the role's tasks up to the start of the service, in folders of the test."""
    place = tmp_path / "opt"
    own = {
        "simulator_directory": str(place),
        "simulator_python": sys.executable,
        "simulator_fleet": {"vms": [{"name": "a"}]},
        "__simulator_unit_file": str(tmp_path / "simulator.service"),
        # What the handler would ask systemd about.
        "__simulator_unit": {"stat": {"exists": False}},
    }
    variables = tmp_path / "variables.json"
    variables.write_text(json.dumps(own))

    def run(*arguments):
        hosts = inventory(tmp_path, {"rehearsal": {}})
        role = {"name": "maintenance.azure.simulator", "tasks_from": "install"}
        task = {"name": "Install", "ansible.builtin.include_role": role}
        ended = play(tmp_path, hosts, task, ANSIBLE_PIPELINING="1", arguments=("-e", f"@{variables}", *arguments))
        assert ended.code == 0, ended.output
        return [line["task"] for line in ended.results if line["result"].get("changed")]

    run.place = place
    run.unit = tmp_path / "simulator.service"
    return run


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def program_files():
    """Without compiled files, which a simulator that ran from there may have left."""
    return [name for name in names_in(PROGRAM) if "__pycache__" not in name]


def test_installing_over_an_earlier_version(install):
    """A dry run first, then in earnest, then again; where the program was a single file before."""
    install.place.mkdir()
    old = install.place / "metadata_simulator.py"
    old.write_text("print('old')\n")

    assert "Install the program" in " ".join(install("--check"))
    assert names_in(install.place) == ["metadata_simulator.py"]

    assert install()
    program = install.place / "metadata_simulator"
    assert not old.exists()
    assert names_in(program) == program_files()
    assert '"--profile" "azure"' in install.unit.read_text()
    check = [sys.executable, str(program), "--check", "--fleet", str(install.place / "fleet.json")]
    assert subprocess.run(check, check=False).returncode == 0
    # Python leaves nothing behind that would look like a change.
    assert names_in(program) == program_files()

    assert install() == []
