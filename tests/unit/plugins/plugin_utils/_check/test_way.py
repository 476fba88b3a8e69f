# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways to a machine that can't be tried here, and those that are slow."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.needs import about_needs
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.way import Way, about_way

USUAL = {"connection": "ssh", "shell": "sh", "seconds": 0.1, "has_curl": True, "python": "3.11.7", "user": "root"}


def told(**changes):
    return {finding.point: (finding.verdict, finding.seen) for finding in about_way(Way(**{**USUAL, **changes}))}


def test_the_usual_way():
    assert told() == {
        "reach": ("good", "by ssh, a call takes 0.10 s"),
        "how our code gets there": ("good", "one command and curl"),
        "Python": ("good", "3.11.7"),
        "become": ("good", "none, as root"),
    }


@pytest.mark.parametrize(("seconds", "verdict"), [(2.0, "good"), (2.1, "doubtful")])
def test_a_call_that_is_slow(seconds, verdict):
    assert told(seconds=seconds)["reach"][0] == verdict


def test_powershell():
    found = told(connection="winrm", shell="powershell", has_curl=False, python=None, user="")
    assert found["how our code gets there"] == ("good", "PowerShell")
    assert found["Python"] == ("good", "not needed")


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("3.6.0", "good"), ("3.5.9", "bad"), ("2.7.18", "bad"), ("3.13.1", "good"), ("4.0", "good")],
)
def test_versions_of_python(version, verdict):
    assert told(python=version)["Python"][0] == verdict


def test_neither_python_nor_curl():
    found = told(python=None, has_curl=False, problem="no such file")
    assert found["how our code gets there"] == ("bad", "neither Python nor curl: no such file")
    assert found["Python"] == ("bad", "none that runs: no such file")


def test_who_one_becomes():
    assert told(become="sudo to app", user="app")["become"] == ("good", "sudo to app, and then it is app")


@pytest.mark.parametrize(
    ("state", "verdict"),
    [("loaded", "good"), ("not-found", "bad"), ("masked", "bad"), ("systemctl can't be run: No such file", "doubtful")],
)
def test_states_of_units(state, verdict):
    need = {"step": "step 1 (services)", "machine": "", "kind": "unit", "name": "nginx", "wanted": ""}
    (found,) = about_needs([need], {"units": {"nginx": state}, "paths": {}, "commands": {}}, "the host")
    assert found.verdict == verdict
