# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role that installs the simulator, and the guide, as far as they can be looked at without a machine."""

from __future__ import annotations

import re

import pytest
import yaml
from helpers.simulator_process import PROGRAM

ROLE = PROGRAM.parent.parent
REPOSITORY = ROLE.parent.parent
TABLES = ["FAULT_KINDS", "STATUS_FAULTS", "SCENARIOS", "EVENT_RULES", "GROUP_RULES", "VM_RULES", "SETTING_RULES"]
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in sorted(PROGRAM.glob("*.py")))
GUIDE = (REPOSITORY / "docs" / "simulator.md").read_text(encoding="utf-8")


def load(path):
    return yaml.safe_load((ROLE / path).read_text(encoding="utf-8"))


def test_every_default_is_described_and_the_other_way_round():
    options = load("meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    assert set(load("defaults/main.yml")) == set(options)


def test_described_defaults_are_the_defaults():
    options = load("meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    described = {name: option["default"] for name, option in options.items() if "default" in option}
    defaults = load("defaults/main.yml")
    assert {name: defaults[name] for name in described} == described


def names_after(pattern, text):
    return set(re.findall(pattern, text, re.MULTILINE))


@pytest.mark.parametrize("table", TABLES)
def test_the_guide_names_all_that_the_program_knows(table):
    body = re.search(rf"^{table} = (.*?)^[}})]", SOURCE, re.MULTILINE | re.DOTALL).group(1)
    names = names_after(r'^    "([a-z_0-9]+)":', body) if "{" in body[:2] else names_after(r'"([a-z_0-9]+)"', body)
    assert len(names) > 4
    assert {name for name in names if f"`{name}`" not in GUIDE} == set()


def test_the_guide_names_every_option_and_endpoint():
    options = names_after(r'add_argument\(\s*"(--[a-z-]+)"', SOURCE)
    endpoints = {path.strip("^$") for path in names_after(r'\("(?:GET|POST|DELETE)", r"\^(/[a-z]+)\$"', SOURCE)}
    assert len(options) > 10
    assert len(endpoints) > 5
    assert {word for word in options | endpoints if word not in GUIDE} == set()
