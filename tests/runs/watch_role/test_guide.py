# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rehearsal of docs/watch.md: its files as they stand there, with the paths and ports of this test in them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess

import pytest
import yaml
from helpers import ROOT
from helpers.ansible_run import run
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import reflex_pids

pytestmark = [
    pytest.mark.rest,
    pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root, so it needs root"),
]
GUIDE = ROOT / "docs" / "watch.md"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def the_one_with(words, kind):
    (found,) = [block for block in blocks(kind) if words in block]
    return found


def events_of_the_guide():
    """What the guide has curl send to the control interface."""
    console = the_one_with("metadata_simulator", "console")
    return [json.loads(body) for body in re.findall(r"curl -d '(.*?)' http://127.0.0.1:8169/events", console)]


def test_the_rules_that_are_recommended_are_those_that_are_rehearsed():
    recommended = [
        rule
        for block in blocks("yaml")
        if block.startswith("watch_reflex:")
        for rule in yaml.safe_load(block)["watch_reflex"]
    ]
    (play,) = yaml.safe_load(the_one_with("rehearse.yml", "yaml"))
    assert play["vars"]["watch_reflex"] == recommended
    assert len(recommended) == 4
    # It costs requests, which only a Preempt is worth.
    assert [rule["type"] for rule in recommended if rule.get("past_others")] == ["Preempt"]


def test_the_rehearsal(tmp_path):
    place = tmp_path / "rehearsal"
    with Simulator(json.loads(the_one_with('"vms"', "json"))) as simulator:
        book = the_one_with("rehearse.yml", "yaml").replace("/tmp/rehearsal", str(place))
        (tmp_path / "rehearse.yml").write_text(book.replace("http://127.81.0.1:8170", simulator.endpoint("db-0")))
        console = the_one_with("metadata_simulator", "console")
        play = [
            "ansible-playbook",
            str(tmp_path / "rehearse.yml"),
            "-e",
            f"__watch_logrotate_file={tmp_path / 'rotate'}",
        ]
        # What the guide gives the last of its commands.
        remove = re.search(r"rehearse.yml (-e watch_state=absent.*)", console).group(1).split()
        ended = run(tmp_path, play)
        assert ended.code == 0, ended.output
        out_of_service, audit = place / "out-of-service", place / "log" / "audit.jsonl"
        reboot, preempt = events_of_the_guide()

        def told():
            lines = audit.read_text().splitlines() if audit.exists() else []
            return [line["what"] for line in map(json.loads, lines) if not line["what"].startswith("step")]

        with subprocess.Popen([place / "lib" / "watch", "--config", place / "watch.json"]) as watcher:
            try:
                first = simulator.add_event(**{**reboot, "dwell": 9000})["id"]
                simulator.wait_for(first, "Started", PATIENCE)
                assert out_of_service.exists()
                simulator.finish(first)
                wait_until(lambda: "returned to service" in told())
                assert not out_of_service.exists()
                second = simulator.add_event(**{**preempt, "notice": 900})["id"]
                wait_until(lambda: told().count("drained") == 2)
                assert out_of_service.exists()
                assert simulator.event(second)["status"] == "Scheduled"
            finally:
                watcher.terminate()
                for pid in reflex_pids(place / "reflex.json"):
                    os.kill(pid, signal.SIGKILL)
        assert told() == [
            "drain begins",
            "drained",
            "approval begins",
            "approved",
            "approval confirmed",
            "returned to service",
            "drain begins",
            "drained",
        ]
        ended = run(tmp_path, [*play, *remove])
        assert ended.code == 0, ended.output
    assert not out_of_service.exists()
    assert not (place / "lib").exists()
