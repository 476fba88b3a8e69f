# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the README is run, by a user who has its files, a built tarball and a simulated fleet."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import ansible_run
import pytest
from galaxy_double import galaxy
from simulator_process import Simulator

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[4]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# `make test` is what runs this, and tests/integration/targets/demo runs `make demo` from a clone.
RUN_ELSEWHERE = {"make test", "make demo"}


def commands():
    return [line for language, text in BLOCK.findall(README) if language == "console" for line in text.splitlines()]


def installations():
    return [line for line in commands() if line.startswith("ansible-galaxy collection")]


def files():
    blocks = [text.partition("\n") for language, text in BLOCK.findall(README) if language == "yaml"]
    return {title.removeprefix("# "): body for title, _end, body in blocks}


class User:
    """Someone with a clone, an empty collections path, and a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.installed = folder / "installed"
        names = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout.split("\0")
        for name in filter(None, names):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def type(self, command: str, **more: str):
        settings = {"ANSIBLE_COLLECTIONS_PATH": str(self.installed), "PYTHONPATH": "", **more}
        done = ansible_run.run(self.folder, shlex.split(command), 240, **settings)
        assert done.code == 0, f"{command}: {done.output}"
        return done.output


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The collection is built and installed from the clone, by the commands of the README."""
    someone = User(tmp_path_factory.mktemp("clone"))
    _from_galaxy, *from_clone = installations()
    for command in from_clone:
        someone.type(command)
    return someone


@pytest.fixture(scope="module")
def fleet(user):
    """The README's files, and a simulator in the place of Azure."""
    vms = [{"name": f"web-{number}", "group": "web"} for number in range(3)]
    with Simulator({"groups": {"web": {}}, "vms": vms}, requests_per_second=0) as simulator:
        simulator.document("web-0")
        for name, text in files().items():
            (user.folder / name).write_text(text)
        # The stand-in for what this machine lacks; the inventory itself stays as it is in the README.
        units = user.folder / "bin"
        units.mkdir()
        (units / "systemctl").write_text(
            '#!/bin/sh\necho "$@" >> "$0.calls"\nprintf "LoadState=loaded\\nActiveState=inactive\\n"\n'
        )
        (units / "systemctl").chmod(0o755)
        own = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "ansible_become": False,
            "maintenance_endpoint": "{{ endpoints[inventory_hostname] }}",
            "endpoints": simulator.endpoints,
            "drain_journal": str(user.folder / "{{ inventory_hostname }}.json"),
            "maintenance_lock_path": str(user.folder / "{{ inventory_hostname }}.lock"),
        }
        (user.folder / "extra.json").write_text(json.dumps(own))
        yield simulator


def test_install_from_galaxy(user, tmp_path):
    (tarball,) = user.folder.glob("maintenance-azure-*.tar.gz")
    with galaxy(tarball) as address:
        said = user.type(
            installations()[0],
            ANSIBLE_COLLECTIONS_PATH=str(tmp_path),
            ANSIBLE_GALAXY_SERVER_LIST="double",
            ANSIBLE_GALAXY_SERVER_DOUBLE_URL=f"{address}/api/",
        )
    assert "was installed successfully" in said
    assert (tmp_path / "ansible_collections" / "maintenance" / "azure" / "MANIFEST.json").exists()


def test_the_python_packages():
    (command,) = [line for line in commands() if line.startswith("pip ")]
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_command_of_ansible_in_the_order_of_the_page(user, fleet):
    event = fleet.add_event(type="Reboot", resources=["web-1"], dwell=1)
    ours = [
        line
        for line in commands()
        if line.startswith(("ansible ", "ansible-playbook ", "ansible-inventory ", "ansible-doc "))
    ]
    assert len(ours) >= 7
    cached = {
        "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
        "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(user.folder / "facts"),
        "PATH": f"{user.folder}/bin:{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    said = {}
    for command in ours:
        more = "" if command.startswith("ansible-doc") else " -e @extra.json"
        # The module asks at Azure's own address, unless it is told another one.
        more += " -a 'endpoint={{ maintenance_endpoint }}'" if command.startswith("ansible ") else ""
        said[command] = user.type(command + more, **cached)
        if command.endswith("--check"):
            assert "Wave 1 of 1" in said[command]
            assert fleet.event(event["id"])["status"] == "Scheduled"
        elif command.endswith("maintain.yml"):
            assert fleet.event(event["id"])["status"] == "Finished"
    assert "@maintenance_clear" in said[ours[-3]]


def test_no_command_is_left_out():
    known = ("ansible-galaxy collection", "pip ", "ansible ", "ansible-playbook ", "ansible-inventory ", "ansible-doc ")
    assert {line for line in commands() if not line.startswith(known)} == RUN_ELSEWHERE
