# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell says that there is no journal only where opening one would say so too."""

from __future__ import annotations

import os
import subprocess

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.curl import NO_JOURNAL, probe

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can run something as somebody else")


def says_none(path, **more):
    done = subprocess.run(["sh", "-c", probe(str(path))], capture_output=True, text=True, check=False, **more)
    assert done.stderr == ""
    return NO_JOURNAL in done.stdout


def test_nothing_there(tmp_path):
    assert says_none(tmp_path / "journal.json")
    assert says_none(tmp_path / "a folder" / "that is $not" / "there" / "journal.json") is False
    assert says_none(tmp_path / "a folder" / "that isn't" / "there" / "journal.json")
    assert says_none("/journal-of-nobody.json")


def test_something_there(tmp_path):
    path = tmp_path / "journal.json"
    path.symlink_to("nowhere")
    assert not says_none(path)
    path.unlink()
    path.mkdir()
    assert not says_none(path)
    path.rmdir()
    path.write_text("{}")
    assert not says_none(path)
    assert not says_none(path / "below a file")


@pytest.mark.parametrize("path", ["~/journal.json", "journal.json", "$HOME/journal.json", "/tmp/$USER/journal.json"])
def test_a_path_that_has_to_be_expanded_is_left_to_python(path):
    assert probe(path) == ""


@needs_root
def test_a_folder_that_can_not_be_searched(tmp_path):
    closed = tmp_path / "closed"
    (closed / "inner").mkdir(parents=True)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(0o755)
    closed.chmod(0o700)
    for path in (closed / "journal.json", closed / "inner" / "journal.json", closed / "none" / "journal.json"):
        assert says_none(path)
        assert not says_none(path, user="nobody", group="nogroup", extra_groups=[], cwd="/")
