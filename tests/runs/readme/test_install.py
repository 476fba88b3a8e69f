# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every way to install that the README names, by its own commands, and `ansible-doc` on what is there then."""

from __future__ import annotations

import json
import subprocess

import pytest
import yaml
from helpers.galaxy_double import galaxy
from helpers.readme_page import README, ROOT, User, clone, commands_with

pytestmark = [pytest.mark.once, pytest.mark.rest]
BUILD, FROM_TARBALL, FROM_GIT = commands_with("ansible-galaxy collection")
FROM_GALAXY = "ansible-galaxy collection install maintenance.azure"
# Nobody answers there: neither of the first two ways may need Galaxy.
NO_GALAXY = {"ANSIBLE_GALAXY_SERVER": "http://127.0.0.1:9"}
# What a user calls by name, by the kind that `ansible-doc` knows it as.
PUBLIC = {
    "module": {"drain_journal", "lease", "scheduled_event_approve", "scheduled_event_info", "scheduled_event_wait"},
    "filter": {"waves", "plan"},
    "inventory": {"scheduled_events"},
    "role": {"drain", "approve", "restore", "simulator"},
}


@pytest.fixture(scope="module")
def user(tmp_path_factory):
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


def check_installation(user, place):
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
        listed = json.loads(user.type(f"{ask} --list maintenance.azure", ANSIBLE_COLLECTIONS_PATH=str(place)))
        assert full <= set(listed)
        pages = json.loads(user.type(f"{ask} {' '.join(sorted(full))}", ANSIBLE_COLLECTIONS_PATH=str(place)))
        assert set(pages) == full
        assert all(pages.values())


def test_from_the_tarball(user, tmp_path):
    user.type(FROM_TARBALL, ANSIBLE_COLLECTIONS_PATH=str(tmp_path), **NO_GALAXY)
    check_installation(user, tmp_path)


def test_from_the_git_repository(user, tmp_path):
    """The command is the README's own; git is told that its address is here."""
    address = FROM_GIT.partition(" git+")[2]
    assert address.startswith(yaml.safe_load((ROOT / "galaxy.yml").read_text(encoding="utf-8"))["repository"])
    here = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{repository(tmp_path / 'repository')}.insteadOf",
        "GIT_CONFIG_VALUE_0": address,
    }
    place = tmp_path / "installed"
    user.type(FROM_GIT, ANSIBLE_COLLECTIONS_PATH=str(place), **here, **NO_GALAXY)
    check_installation(user, place)


def test_from_galaxy_once_it_is_there(user, tmp_path):
    assert f"`{FROM_GALAXY}`" in README
    (tarball,) = user.folder.glob("maintenance-azure-*.tar.gz")
    with galaxy(tarball) as address:
        user.type(
            FROM_GALAXY,
            ANSIBLE_COLLECTIONS_PATH=str(tmp_path),
            ANSIBLE_GALAXY_SERVER_LIST="double",
            ANSIBLE_GALAXY_SERVER_DOUBLE_URL=f"{address}/api/",
        )
    check_installation(user, tmp_path)
