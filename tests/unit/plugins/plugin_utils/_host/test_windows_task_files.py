# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of steps on Windows hosts: every module and option of ansible.windows that they name exists there."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import ON_WINDOWS
from helpers import ROOT
from helpers.windows_double.specs import complaint_about
from helpers.windows_host import with_ansible_windows
from tools.wheel_part import Unavailable

TASKS = ROOT / "roles" / "steps" / "tasks" / "windows"
SCRIPTS = TASKS.parents[1] / "files" / "windows"
FILES = sorted(TASKS.rglob("*.yml"))
COLLECTION = "ansible.windows."


@pytest.fixture(autouse=True)
def collection(monkeypatch):
    try:
        settings = with_ansible_windows()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", settings["ANSIBLE_COLLECTIONS_PATH"])


def modules_in(tasks: Any) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Module, its arguments and the whole task, of all that are of ansible.windows, also in blocks."""
    found = []
    for task in tasks or []:
        found += modules_in(task.get("block")) + modules_in(task.get("rescue"))
        found += [
            (key.removeprefix(COLLECTION), value, task) for key, value in task.items() if key.startswith(COLLECTION)
        ]
    return found


CASES = [(path, *case) for path in FILES for case in modules_in(yaml.safe_load(path.read_text(encoding="utf-8")))]
IDS = [f"{case[0].relative_to(TASKS)}-{case[1]}" for case in CASES]


@pytest.mark.parametrize(("path", "module", "arguments", "task"), CASES, ids=IDS)
def test_module_and_options_exist(path, module, arguments, task):
    plain = {name: value for name, value in arguments.items() if not (isinstance(value, str) and "{{" in value)}
    assert complaint_about(module, {**dict.fromkeys(arguments), **plain}) == ""


def test_there_is_something_to_look_at():
    assert {case[1] for case in CASES} >= {"win_service", "win_command", "win_powershell", "win_uri", "win_wait_for"}


@pytest.mark.parametrize(("path", "module", "arguments", "task"), CASES, ids=IDS)
def test_what_may_hang_is_ended_on_the_host_too(path, module, arguments, task):
    """These have no time-out of their own; the others look, or end by themselves."""
    if module in ("win_command", "win_service"):
        assert task["async"]
        assert task["poll"] > 0


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.ps1")), ids=lambda path: path.name)
def test_scripts_take_what_they_are_given(path):
    named = re.search(r"param \((.*?)\)\n", path.read_text(encoding="utf-8"), re.DOTALL).group(1)
    takes = {name.lstrip("$") for name in re.findall(r"\$\w+", named)}
    given = [case[2]["parameters"] for case in CASES if f"windows/{path.name}" in str(case[2].get("script"))]
    assert given
    assert all(set(one) == takes for one in given)


def test_every_kind_has_both_halves():
    for folder in set(ON_WINDOWS.values()):
        assert (TASKS / folder / "drain.yml").is_file()
        assert (TASKS / folder / "restore.yml").is_file()
