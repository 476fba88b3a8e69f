# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host has drained itself by a list of steps that the user has changed since: it is undone before the new one."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain.host_clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import (
    JournalFile,
    all_drained,
    begun,
    recorded,
    utc_now,
)
from helpers.ansible_run import inventory, play

pytestmark = pytest.mark.rest

EVENT = {"id": "A1", "type": "Reboot", "status": "Scheduled", "resources": ["web-0"], "not_before": None}


def drained_by_itself(journal, *commands):
    steps = [
        {"number": number, "kind": "command", "arguments": command, "before": {}, "status": "done"}
        for number, command in enumerate(commands, start=1)
    ]
    journal.change(lambda data: begun(data, [EVENT], "watcher of web-0", boot_id(), utc_now()))
    journal.change(lambda data: recorded(data, steps, utc_now()))
    journal.change(lambda data: {**all_drained(data, utc_now()), "steps_digest": "0" * 64})


class Host:
    """Its steps write down what they do."""

    def __init__(self, folder):
        self.folder, self.deeds = folder, folder / "deeds"
        self.journal = JournalFile(str(folder / "journal.json"))

    def noted(self, word, back=None):
        line = 'echo "$2" >>"$1"'
        words = {"drain": f"drain {word}", "restore": f"restore {back or word}"}
        return {half: ["sh", "-c", line, "sh", str(self.deeds), said] for half, said in words.items()}

    def run(self, role, *steps):
        variables = {
            "drain_journal": self.journal.path,
            "drain_events": [EVENT],
            "drain_run_id": "r",
            "restore_run_id": "r",
            "drain_steps": [{"command": step} for step in steps],
        }
        task = {"name": "Run", "ansible.builtin.include_role": {"name": f"maintenance.azure.{role}"}}
        ended = play(self.folder, inventory(self.folder, {"web-0": variables}), task, ANSIBLE_PIPELINING="1")
        assert ended.code == 0, ended.output
        return self.deeds.read_text().splitlines()


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_what_is_no_longer_meant_is_undone_first_as_it_was_done(host):
    """One is removed, one has another way back, and two have changed places."""
    noted = host.noted
    drained_by_itself(host.journal, noted("kept"), noted("old"), noted("a"), noted("b", back="the old way"))
    assert host.run("drain", noted("kept"), noted("b", back="the new way"), noted("a")) == [
        "restore the old way",
        "restore a",
        "restore old",
        "drain b",
        "drain a",
    ]
    data = host.journal.read()
    assert (data["run_id"], data["state"]) == ("r", "drained")
    assert [step["arguments"]["drain"][-1] for step in data["steps"]] == ["drain kept", "drain b", "drain a"]


def test_a_return_undoes_all_as_it_was_done(host):
    noted = host.noted
    drained_by_itself(host.journal, noted("gone"), noted("kept", back="the old way"))
    assert host.run("restore", noted("new"), noted("kept", back="the new way")) == [
        "restore the old way",
        "restore gone",
    ]
    assert host.journal.read() is None
