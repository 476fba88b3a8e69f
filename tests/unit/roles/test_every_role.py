# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role says what it takes, and takes what it says."""

from __future__ import annotations

import pytest
import yaml
from helpers import ROOT

ROLES = sorted(path for path in (ROOT / "roles").iterdir() if (path / "meta").is_dir())


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.fixture(params=ROLES, ids=lambda role: role.name)
def role(request):
    return request.param


def test_every_default_is_described_and_the_other_way_round(role):
    options = load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    assert set(load(role / "defaults" / "main.yml")) == set(options)


def test_described_defaults_are_the_defaults(role):
    options = load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"]["options"]
    described = {name: option["default"] for name, option in options.items() if "default" in option}
    defaults = load(role / "defaults" / "main.yml")
    assert {name: defaults[name] for name in described} == described


def test_it_has_a_readme(role):
    assert (role / "README.md").is_file()


def test_files_in_folders_are_included_by_their_whole_path(role):
    """Ansible looks in the folder `tasks` of the playbook first, and a user may have one of that name there."""
    files = [file for file in (role / "tasks").rglob("*.yml") if file.parent.name != "tasks"]
    named = [
        (file.name, line.strip())
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines()
        if "_tasks: " in line and '_tasks: "{{' not in line
    ]
    assert named == []
