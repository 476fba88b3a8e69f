# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A failure that we foresee is a sentence: no traceback beside it, on any ansible-core."""

from __future__ import annotations

import re

import pytest
from helpers.ansible_run import MIRROR, inventory, play, play_each
from helpers.simulator_process import Simulator

pytestmark = pytest.mark.rest

ACTIONS = MIRROR / "ansible_collections" / "maintenance" / "azure" / "plugins" / "action"
NAMES = sorted(path.stem for path in ACTIONS.glob("*.py"))
# Some are said while an exception is handled, to which ansible-core before 2.19 adds its traceback; the others get
# an empty one.
MISTAKES = {
    "scheduled_event_info": [
        ({"endpoint": "ftp://metadata"}, "endpoint"),
        ({"query": "[["}, "query"),
        ({"vm_name": " "}, "vm_name is empty"),
        ({"timeout": 2}, "empty"),
    ],
    "scheduled_event_wait": [({"timeout": 2, "wait_timeout": 2, "vm_name": "a", "event_ids": ["E"]}, "empty")],
    "scheduled_event_approve": [({"timeout": 2, "vm_name": "a"}, "empty"), ({"event_ids": [""]}, "empty id")],
    "_write_report": [({"folder": "/dev/null/folder", "hosts": []}, "can't be written")],
}


@pytest.fixture
def run_each(tmp_path):
    with Simulator({"vms": [{"name": "a"}]}) as simulator:
        simulator.fault(kind="empty_200", count=1000)
        hosts = inventory(tmp_path, {"a": {"maintenance_endpoint": simulator.endpoint("a")}})
        yield lambda name, cases: play_each(tmp_path, hosts, f"maintenance.azure.{name}", cases)


def assert_in_words(run, options, words):
    result = run.of(str(options))
    assert result["outcome"] == "failed"
    assert re.search(words, result["msg"])
    assert "Traceback" not in str(result)
    assert "NoneType" not in str(result)
    assert "An exception occurred" not in run.output


@pytest.mark.parametrize("name", sorted(MISTAKES))
def test_mistakes(run_each, name):
    run = run_each(name, [options for options, _words in MISTAKES[name]])
    for options, words in MISTAKES[name]:
        assert_in_words(run, options, words)


def test_an_option_that_no_action_has(tmp_path):
    hosts = inventory(tmp_path, {"a": {}})
    tasks = [{"name": name, f"maintenance.azure.{name}": {"colour": "red"}, "ignore_errors": True} for name in NAMES]
    run = play(tmp_path, hosts, *tasks, module_defaults={})
    assert "An exception occurred" not in run.output
    # Those of a roll take what they need from its variables, of which there are none here.
    for name in NAMES:
        if not name.startswith("_"):
            assert_in_words(run, name, "colour|missing required arguments")
