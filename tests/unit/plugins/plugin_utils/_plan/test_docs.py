# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in docs/waves.md and docs/policies.md do what is written next to them."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import CONDITIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan import plan as _plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import read_policy, ruling_on
from helpers.default_policy import DEFAULT_POLICY

ROOT = pathlib.Path(_plan.__file__).parents[3]
WAVES = (ROOT / "docs/waves.md").read_text()
POLICIES = (ROOT / "docs/policies.md").read_text()
EVENT = re.compile(r"(\w+) by (\w+)(?:, due in (\d+)d)?(?:, (\d+) s)?$")


def blocks(text, first_line):
    """The code blocks that begin with this comment, each with the text up to the next block."""
    return re.findall(rf"```yaml\n# {first_line}[^\n]*\n(.*?)```\n(.*?)(?=```yaml|\Z)", text, re.DOTALL)


def rows(text):
    return [re.findall(r"[^|]+", line.replace("`", "")) for line in text.splitlines() if line.startswith("| ")][1:]


def test_the_default_policy_is_shown_as_it_is():
    ((shown, _after),) = blocks(POLICIES, "policy: default")
    assert yaml.safe_load(shown) == DEFAULT_POLICY


@pytest.mark.parametrize("name", ["busy shop", "quorum"])
def test_example_policies_decide_as_their_tables_say(name):
    ((policy, after),) = blocks(POLICIES, f"policy: {name}")
    rules = read_policy(yaml.safe_load(policy))
    table = rows(after)
    assert len(table) > 2
    for words, action, *_rest in table:
        kind, source, days, duration = EVENT.match(words.strip()).groups()
        event = {
            "type": kind,
            "source": source,
            "seconds_left": int(days) * 86400 if days else 600,
            "duration_seconds": int(duration) if duration else None,
            "description": "Host server is undergoing maintenance.",
        }
        assert ruling_on(event, rules)["action"] == action.strip(), words


def test_every_condition_is_in_the_table():
    conditions = POLICIES.partition("## Conditions")[2].partition("## Examples")[0]
    assert [row[0].strip() for row in rows(conditions)] == [*CONDITIONS, "name"]


def test_the_playbook_runs_in_the_waves_that_are_shown(tmp_path):
    ((inventory, after),) = blocks(WAVES, "inventory")
    ((playbook, _rest),) = blocks(WAVES, "playbook")
    (tmp_path / "inventory.yml").write_text(inventory)
    (tmp_path / "playbook.yml").write_text(playbook)
    command = shutil.which("ansible-playbook", path=pathlib.Path(sys.executable).parent)
    collections = ROOT.parents[2]
    answer = subprocess.run(
        [str(command), "-i", "inventory.yml", "-c", "local", "playbook.yml"],
        cwd=tmp_path,
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_LOCALHOST_WARNING": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout
    expected = [line.partition(": ")[2] for line in after.splitlines() if line.startswith("wave ")]
    assert re.findall(r'"msg": "wave: (.*)"', answer.stdout) == expected
