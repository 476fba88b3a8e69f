# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pattern for AWX: its survey asks for what playbooks take, its environments hold what the collection needs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from helpers import ROOT

pytestmark = [pytest.mark.once, pytest.mark.rest]

PATTERN = ROOT / "extensions" / "patterns" / "azure_maintenance"


def test_survey_answers_are_variables_of_the_playbooks():
    meta = json.loads((PATTERN / "meta" / "pattern.json").read_text())
    asked = {
        question["variable"]
        for template in meta["aap_resources"]["controller_job_templates"]
        for question in template.get("survey", {}).get("spec", [])
    }
    assert len(asked) > 3
    known = "\n".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert all(f"`{variable}`" in known or f"{variable}:" in known for variable in asked), asked


def builder(*arguments):
    command = [sys.executable, "-m", "ansible_builder", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_ansible_builder_takes_the_execution_environment(tmp_path):
    definition = PATTERN / "exec_env" / "execution-environment.yml"
    builder("create", "-f", str(definition), "-c", str(tmp_path / "context"), "--output-filename", "Containerfile")
    made = (tmp_path / "context" / "Containerfile").read_text()
    assert "ansible-core>=2.18,<2.19" in made
    collections = yaml.safe_load((tmp_path / "context" / "_build" / "requirements.yml").read_text())["collections"]
    assert [entry["name"] for entry in collections] == ["maintenance.azure", "awx.awx"]
    # What a broken one does.
    broken = tmp_path / "broken.yml"
    broken.write_text(definition.read_text().replace("dependencies:", "dependences:"))
    with pytest.raises(subprocess.CalledProcessError):
        builder("create", "-f", str(broken), "-c", str(tmp_path / "other"))


def test_ansible_builder_takes_the_decision_environment(tmp_path):
    definition = PATTERN / "exec_env" / "decision-environment.yml"
    builder("create", "-f", str(definition), "-c", str(tmp_path / "context"), "--output-filename", "Containerfile")
    packages = (tmp_path / "context" / "_build" / "requirements.txt").read_text().splitlines()
    assert "ansible-rulebook>=1.2.0,<2" in packages
    needed = (ROOT / "requirements.txt").read_text().splitlines()
    assert {line for line in needed if line and not line.startswith("#")} < set(packages)
    assert "default-jre-headless" in (tmp_path / "context" / "_build" / "bindep.txt").read_text()


def test_the_execution_environment_agrees_with_what_the_collection_says_it_needs(tmp_path):
    """Three places name the controller's packages: requirements.txt, meta/execution-environment.yml, the definition."""
    collection = tmp_path / "ansible_collections" / "maintenance" / "azure"
    (collection / "meta").mkdir(parents=True)
    for name in ("galaxy.yml", "requirements.txt", "meta/execution-environment.yml"):
        shutil.copy(ROOT / name, collection / name)
    told = yaml.safe_load(builder("introspect", str(tmp_path)))["python"]
    wanted = {re.sub(r"\s*#.*", "", str(line)).strip() for line in told} - {""}
    in_file = {
        line for line in (ROOT / "requirements.txt").read_text().splitlines() if line and not line.startswith("#")
    }
    defined = yaml.safe_load((PATTERN / "exec_env" / "execution-environment.yml").read_text())
    assert wanted == in_file == set(defined["dependencies"]["python"])
    wants_core = yaml.safe_load((ROOT / "meta" / "runtime.yml").read_text())["requires_ansible"]
    assert wants_core == ">=2.16.0"
    # In the image, and not fetched with the project: a sync then needs no Galaxy.
    names = [entry["name"] for entry in defined["dependencies"]["galaxy"]["collections"]]
    assert names == ["maintenance.azure", "awx.awx"]
    assert not (PATTERN / "collections").exists()


def test_every_playbook_is_one_import_of_the_collection():
    playbooks = sorted((PATTERN / "playbooks").iterdir())
    assert PATTERN / "playbooks" / "drain_then_approve.yml" in playbooks
    for path in playbooks:
        (play,) = yaml.safe_load(path.read_text())
        name = play["ansible.builtin.import_playbook"]
        assert set(play) == {"name", "ansible.builtin.import_playbook"}
        assert (ROOT / "playbooks" / f"{name.removeprefix('maintenance.azure.')}.yml").is_file(), name
