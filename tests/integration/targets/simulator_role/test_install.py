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
from ansible_run import inventory, play
from simulator_process import PROGRAM

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root, so it needs root")


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
        ended = play(tmp_path, hosts, task, arguments=("-e", f"@{variables}", *arguments))
        assert ended.code == 0, ended.output
        return [line["task"] for line in ended.results if line["result"].get("changed")]

    run.place = place
    run.unit = tmp_path / "simulator.service"
    return run


def names_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_the_program_is_copied_as_a_folder_and_runs_from_there(install):
    install()
    assert names_in(install.place / "metadata_simulator") == names_in(PROGRAM)
    program = [sys.executable, str(install.place / "metadata_simulator"), "--check"]
    fleet = ["--fleet", str(install.place / "fleet.json")]
    assert subprocess.run([*program, *fleet], timeout=30, check=False).returncode == 0
    assert names_in(install.place / "metadata_simulator") == names_in(PROGRAM)


def test_a_second_run_changes_nothing(install):
    assert install()
    assert install() == []


def test_check_mode_works_on_a_fresh_machine_and_changes_nothing(install):
    assert "Install the program" in " ".join(install("--check"))
    assert not install.place.exists()


def test_the_single_file_of_an_earlier_version_is_removed(install):
    install.place.mkdir()
    old = install.place / "metadata_simulator.py"
    old.write_text("print('old')\n")
    install()
    assert not old.exists()
    assert install() == []


def test_the_profile_is_azure_unless_said_otherwise(install):
    for arguments, profile in (((), "azure"), (("-e", "simulator_profile=quick"), "quick")):
        install(*arguments)
        assert f'"--profile" "{profile}"' in install.unit.read_text()


def test_a_fleet_that_makes_no_sense_fails_and_the_old_one_stays(install):
    install()
    before = (install.place / "fleet.json").read_text()
    with pytest.raises(AssertionError, match="vms"):
        install("-e", '{"simulator_fleet": {"vms": []}}')
    assert (install.place / "fleet.json").read_text() == before
