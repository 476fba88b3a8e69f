# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What steps need: files of the right kind, programs by their names, and all that files of tasks use."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.needs import (
    about_modules,
    about_needs,
    first_word,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.task_files import used_by


@pytest.mark.parametrize("wanted", ["socket", "file", "folder"])
@pytest.mark.parametrize("there", ["socket", "file", "folder", "other", "missing", "Permission denied"])
def test_a_path_is_good_only_if_it_is_what_the_step_needs(wanted, there):
    need = {"kind": "path", "name": "/run/haproxy/admin.sock", "wanted": wanted, "step": "step 1 (load_balancer)"}
    (found,) = about_needs([need], {"paths": {"/run/haproxy/admin.sock": there}}, "lb1")
    assert (found.verdict == "good") == (there == wanted)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pg_ctl stop -D /x", "pg_ctl"),
        (["/bin/leave", "--token", "hunter2"], "/bin/leave"),
        ("PGPASSWORD=hunter2 pg_dump", "PGPASSWORD=..."),
        (["PGPASSWORD=hunter2\nmore", "pg_dump"], "PGPASSWORD=..."),
        ("env PGPASSWORD=hunter2 pg_dump", "env"),
    ],
)
def test_of_a_command_only_the_program_is_told(command, shown):
    assert first_word(command) == shown


def test_an_assignment_is_no_program():
    need = {"kind": "command", "name": "PGPASSWORD=...", "wanted": "", "step": "step 1 (command)"}
    (found,) = about_needs([need], {"commands": {"PGPASSWORD=...": False}}, "the host")
    assert found.verdict == "bad"
    assert "env" in found.do


def test_what_tasks_use_is_found_wherever_it_stands():
    used = used_by(
        [
            {"name": "A", "a.b.one": {}},
            {"block": [{"a.b.two": None}], "rescue": [{"action": "a.b.three x=1"}]},
            {"always": [{"local_action": {"module": "a.b.four", "x": 1}}]},
            {"include_tasks": "more.yml"},
            {"ansible.builtin.import_tasks": {"file": "{{ role_path }}/x.yml"}, "when": "y"},
            {"ansible.builtin.include_role": {"name": "c.d.role"}},
            {"import_role": {"name": "local_role"}},
            {"command": "true", "register": "x"},
            "nonsense",
        ]
    )
    assert used.modules == {"a.b.one", "a.b.two", "a.b.three", "a.b.four"}
    assert used.files == {"more.yml", "{{ role_path }}/x.yml"}
    assert used.roles == {"c.d.role"}
    assert used_by(None) == used_by("x") == used_by([])


@pytest.mark.parametrize(
    ("missing", "unknown", "verdict"),
    [([], [], "good"), ([], ["{{ x }} in a.yml"], "doubtful"), (["a.b.c"], [], "bad"), (["a.b.c"], ["x"], "bad")],
)
def test_collections_that_could_not_be_looked_for_are_a_doubt(missing, unknown, verdict):
    found = about_modules(missing, unknown)
    assert found.verdict == verdict
    assert bool(found.do) == (verdict != "good")
    assert ("ansible-galaxy collection install a.b" in found.do) == bool(missing)
