# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the README is run, and every way to install that it names ends with a whole collection."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from helpers.galaxy_double import galaxy
from helpers.readme_page import README, ROOT, User, clone, commands, commands_with, files
from helpers.simulator_process import Simulator

pytestmark = [pytest.mark.once, pytest.mark.rest]
# `make test` is what runs this, and tests/runs/demo runs `make demo` from a clone.
RUN_ELSEWHERE = {"make test", "make demo"}


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """The collection is built and installed from the clone, by the commands of the README."""
    someone = User(tmp_path_factory.mktemp("clone"))
    build, install, _from_git = commands_with("ansible-galaxy collection")
    someone.type(build)
    someone.type(install)
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


def test_the_python_packages():
    (command,) = commands_with("pip ")
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
    said, status = {}, {}
    for command in ours:
        more = "" if command.startswith("ansible-doc") else " -e @extra.json"
        # The module asks at Azure's own address, unless it is told another one.
        more += " -a 'endpoint={{ maintenance_endpoint }}'" if command.startswith("ansible ") else ""
        said[command] = user.type(command + more, **cached)
        status[command] = fleet.event(event["id"])["status"]
    look, do = commands_with("ansible-playbook -i inventory.yml maintain.yml")
    assert "Wave 1 of 1" in said[look]
    assert (status[look], status[do]) == ("Scheduled", "Finished")
    assert "@maintenance_clear" in said[ours[-3]]


def test_no_command_is_left_out():
    known = ("ansible-galaxy collection", "pip ", "ansible ", "ansible-playbook ", "ansible-inventory ", "ansible-doc ")
    assert {line for line in commands() if not line.startswith(known)} == RUN_ELSEWHERE


BUILD, FROM_TARBALL, FROM_GIT = commands_with("ansible-galaxy collection")
FROM_GALAXY = "ansible-galaxy collection install maintenance.azure"
# Nobody answers there: neither of the first two ways may need Galaxy.
NO_GALAXY = {"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:9"}
# What a packager calls by name, by the kind that `ansible-doc` knows it as.
PUBLIC = {
    "module": {"drain_journal", "lease", "scheduled_event_approve", "scheduled_event_info", "scheduled_event_wait"},
    "filter": {"waves", "plan"},
    "inventory": {"scheduled_events"},
    "role": {"drain", "approve", "restore", "simulator"},
}


@pytest.fixture(scope="module")
def packager(tmp_path_factory):
    someone = User(tmp_path_factory.mktemp("clone"))
    someone.type(BUILD)
    return someone


def repository(folder):
    """A git repository that holds the tree as it is now, committed or not."""
    clone(folder)
    me = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], [*me, "commit", "--quiet", "--message", "As it is now"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True)
    return folder


def check_installation(packager, place):
    """It is whole, holds nothing that only developers need, and each public name has a page."""
    collection = place / "ansible_collections" / "maintenance" / "azure"
    told = json.loads((collection / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]
    assert told["version"] == yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["version"]
    assert (collection / "README.md").read_text(encoding="utf-8") == README
    assert not (collection / "tests").exists()
    assert (collection / "plugins" / "plugin_utils" / "_report" / "templates" / "page.html.j2").is_file()
    for kind, names in PUBLIC.items():
        full = {f"maintenance.azure.{name}" for name in names}
        ask = f"ansible-doc --json --type {kind}"
        listed = json.loads(packager.type(f"{ask} --list maintenance.azure", ANSIBLE_COLLECTIONS_PATH=str(place)))
        assert full <= set(listed)
        pages = json.loads(packager.type(f"{ask} {' '.join(sorted(full))}", ANSIBLE_COLLECTIONS_PATH=str(place)))
        assert set(pages) == full
        assert all(pages.values())


def test_from_the_tarball(packager, tmp_path):
    packager.type(FROM_TARBALL, ANSIBLE_COLLECTIONS_PATH=str(tmp_path), **NO_GALAXY)
    check_installation(packager, tmp_path)


def test_from_the_git_repository(packager, tmp_path):
    """The command is the README's own; git is told that its address is here."""
    address = FROM_GIT.partition(" git+")[2]
    assert address.startswith(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"])
    here = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{repository(tmp_path / 'repository')}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }
    place = tmp_path / "installed"
    packager.type(FROM_GIT, ANSIBLE_COLLECTIONS_PATH=str(place), **here, **NO_GALAXY)
    check_installation(packager, place)


def test_from_galaxy_once_it_is_there(packager, tmp_path):
    assert f"`{FROM_GALAXY}`" in README
    (tarball,) = packager.folder.glob("maintenance-azure-*.tar.gz")
    with galaxy(tarball) as address:
        packager.type(
            FROM_GALAXY,
            ANSIBLE_COLLECTIONS_PATH=str(tmp_path),
            ANSIBLE_GALAXY_SERVER_LIST="double",
            ANSIBLE_GALAXY_SERVER_DOUBLE_URL=f"{address}/api/",
        )
    check_installation(packager, tmp_path)
