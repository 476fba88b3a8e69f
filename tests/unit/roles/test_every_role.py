# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role says what it takes and knows the others by what they document, and what all plays have in common."""

from __future__ import annotations

import re

import pytest
import yaml
from helpers import ROOT

# Every role says what it takes, and takes what it says.

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


# Roles know each other by name and by what they document.

FOLDER = ROOT / "roles"
NAMES = sorted(path.name for path in FOLDER.iterdir() if (path / "meta").is_dir())
PUBLIC = {"approve", "drain", "restore", "simulator", "watch"}
FILES = sorted(FOLDER.rglob("*.yml"))
INTERNAL = "[INTERNAL] "
# What a file brings in, as it is written: `include_tasks: failed.yml`.
BROUGHT_IN = re.compile(r"(?:include_tasks|import_tasks|include_vars|(?<!_)file|tasks_from|vars_files):\s+(\S.*)")
PRIVATE = re.compile(r"\b__([a-z]+)_\w+")


def relative(path):
    return str(path.relative_to(FOLDER))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_no_public_role_says_so(name):
    told = yaml.safe_load((FOLDER / name / "meta" / "argument_specs.yml").read_text(encoding="utf-8"))
    spec = told["argument_specs"]["main"]
    title = next(
        line for line in (FOLDER / name / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("# ")
    )
    said = [spec["short_description"], spec["description"][0], title.removeprefix("# ")]
    assert [text.startswith(INTERNAL) for text in said] == [name not in PUBLIC] * 3


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_file_of_another_role_is_brought_in_by_its_path(path):
    for brought in BROUGHT_IN.findall(path.read_text(encoding="utf-8")):
        assert ".." not in brought
        # Its own, by their whole path.
        assert "role_path" not in brought.replace("{{ role_path }}/tasks/", "")
        assert not brought.strip("\"'").startswith(("/", *(f"{name}/tasks" for name in NAMES)))


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_no_private_variable_of_another_role_is_read(path):
    own = path.relative_to(FOLDER).parts[0]
    assert set(PRIVATE.findall(path.read_text(encoding="utf-8"))) & {*NAMES} <= {own}


# What all plays of the collection have in common, whatever the user's configuration says.

PLAY_FILES = sorted(
    path for folder in ("playbooks", "extensions", "demo", "roles") for path in (ROOT / folder).rglob("*.y*ml")
)
# A rulebook has hosts as well.
PLAYS = [
    pytest.param(entry, id=f"{path.relative_to(ROOT)}: {entry.get('name')}")
    for path in PLAY_FILES
    for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    for entry in (document if isinstance(document, list) else ())
    if isinstance(entry, dict) and "hosts" in entry and "rules" not in entry
]


@pytest.mark.parametrize("play", PLAYS)
def test_its_strategy_is_linear_whatever_the_configuration_says(play):
    """Tasks with `run_once` decide for all hosts of a batch, which is nothing to other strategies."""
    assert play.get("strategy") == "linear"


def test_they_are_found():
    assert len(PLAYS) > 15
