# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Collections that files of tasks use, and the files that those include."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.controller_has import look_into
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.folders import OURS
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import BadSteps

ROLE_PATH = "{{ role_path }}"


def load(file):
    return yaml.safe_load(Path(file).read_text(encoding="utf-8"))


def resolve(name):
    if "{{ item }}" in name:
        raise AnsibleError("no item")
    return name.replace(ROLE_PATH, str(OURS.parent))


def looked(*files, folders=()):
    return look_into(files, folders, load, resolve)


def written(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yml").write_text(text)
    return folder / f"{next(iter(files))}.yml"


def test_files_that_include_each_other_are_read_once(tmp_path):
    first = written(
        tmp_path, a="[{include_tasks: b.yml}, {no.such.one: }]", b="[{import_tasks: a.yml}, {no.such.two: }]"
    )
    assert looked(first).missing == {"no.such.one", "no.such.two"}


def test_what_is_not_beside_it_is_looked_for_elsewhere(tmp_path):
    first = written(
        tmp_path, a="[{include_tasks: deep/b.yml}, {include_tasks: none.yml}, {include_tasks: '{{ item }}'}]"
    )
    (tmp_path / "else" / "deep").mkdir(parents=True)
    written(tmp_path / "else" / "deep", b="[{no.such.one: }]")
    found = looked(first, folders=[tmp_path / "else"])
    assert found.missing == {"no.such.one"}
    assert sorted(found.unknown) == ["none.yml in a.yml", "{{ item }} in a.yml"]


def test_roles_need_their_collections(tmp_path):
    roles = "[{include_role: {name: no.such.role}}, {include_role: {name: maintenance.azure.drain}}]"
    assert looked(written(tmp_path, a=roles)).missing == {"no.such.role"}


@pytest.mark.parametrize("kind", ["command", "failover", "log", "probe_file", "services", "connections"])
def test_what_is_done_on_windows_needs_its_collection_through_what_it_includes(kind):
    found = looked(OURS / "windows" / kind / "drain.yml")
    assert found.unknown == []
    # Outside of a run not even the builtin modules are found by these names.
    assert {name.rpartition(".")[0] for name in found.missing} - {"ansible.builtin"} == {"ansible.windows"}


def test_a_file_that_can_not_be_read(tmp_path):
    with pytest.raises(BadSteps, match=r"none\.yml can't be read"):
        looked(tmp_path / "none.yml")
