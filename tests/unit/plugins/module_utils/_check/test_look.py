# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half: its pace, and that it runs under every Python and changes nothing."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._check import look as _look
from ansible_collections.maintenance.azure.plugins.module_utils._check.look import looked_at
from helpers import ROOT
from helpers.simulator_process import Simulator
from tools.pythons import find_pythons

PLUGINS = ROOT / "plugins" / "module_utils"
PROGRAM = """
import json, sys
from ansible_collections.maintenance.azure.plugins.module_utils._check.look import carried_out
print(json.dumps(carried_out(json.loads(sys.argv[1]), False)))
"""
READING = {"api_version": "2020-07-01", "with_instance": True, "timeout": 20}


class Clock:
    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def test_the_pace_counts_from_the_end_of_the_request_before():
    clock = Clock()
    pace = _look.Pace(clock, clock.sleep)
    pace.wait()
    assert clock.slept == []
    clock.now = 5.0
    pace.end()
    pace.wait()
    assert clock.slept == [pytest.approx(_look.SECONDS_BETWEEN)]
    pace.end()
    clock.now += 10
    pace.wait()
    assert len(clock.slept) == 1
    # Three in a row take more than a second.
    assert 2 * _look.SECONDS_BETWEEN > 1


@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_under_every_python(version, tmp_path):
    folder = tmp_path / "ansible_collections" / "maintenance" / "azure" / "plugins"
    folder.mkdir(parents=True)
    (folder / "module_utils").symlink_to(PLUGINS)
    with Simulator({"vms": [{"name": "web"}]}) as simulator:
        request = {
            "look": {
                "journal": str(tmp_path / "none.json"),
                "units": ["a"],
                "paths": ["/"],
                "commands": ["sh", "no-such"],
            },
            "ask": {
                "reading": {"endpoints": [simulator.endpoint("web")], **READING},
                "questions": [{"name": "bare", "target": "/metadata/versions", "headers": {}}],
            },
        }
        done = subprocess.run(
            [find_pythons()[version], "-W", "error", "-B", "-c", PROGRAM, json.dumps(request)],
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        methods = {line["method"] for line in simulator.log()}
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["look"]["paths"] == {"/": "folder"}
    assert told["look"]["commands"] == {"sh": True, "no-such": False}
    assert told["look"]["journal"] is None
    assert json.loads(told["ask"]["reading"]["answers"]["instance"]["body"])["name"] == "web"
    assert told["ask"]["heard"]["bare"]["status"] == 400
    assert methods == {"GET"}


def test_where_the_reading_fails_nothing_more_is_asked():
    with Simulator({"vms": [{"name": "web"}]}) as simulator:
        simulator.fault(kind="html")
        reading = {"endpoints": [simulator.endpoint("web")], **READING}
        told = _look.asked({"reading": reading, "questions": [{"name": "a", "target": "/metadata/versions"}]})
        assert told["reading"]["failed"]
        assert told["heard"] == {}
        assert len(simulator.log()) == 1


def test_a_question_without_an_answer_is_told_and_the_next_is_asked():
    with Simulator({"vms": [{"name": "web"}]}) as simulator:
        simulator.fault(kind="drop", path="versions", count=1)
        reading = {"endpoints": [simulator.endpoint("web")], **READING}
        question = {"target": "/metadata/versions", "headers": {"Metadata": "true"}}
        told = _look.asked(
            {"reading": reading, "questions": [{"name": "first", **question}, {"name": "second", **question}]}
        )
        assert told["heard"]["first"]["status"] is None
        assert told["heard"]["first"]["problem"].startswith("Broken")
        assert told["heard"]["second"]["status"] == 200


def test_a_look_leaves_nothing_behind(tmp_path):
    looked_at({"journal": str(tmp_path / "a" / "b.json"), "records": [str(tmp_path / "r")]})
    assert list(tmp_path.iterdir()) == []


def test_kinds_of_paths_and_of_watchers(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "status").write_text("[]")
    paths = [
        str(tmp_path),
        str(tmp_path / "file"),
        str(tmp_path / "none"),
        str(tmp_path / "file" / "below"),
        "/dev/null",
    ]
    told = looked_at({"paths": paths, "watcher": {"status_file": str(tmp_path / "status"), "program": "/bin/sh"}})
    assert list(told["paths"].values()) == ["folder", "file", "missing", "missing", "other"]
    assert told["watcher"]["problem"].endswith("holds no status")
    assert told["watcher"]["installed"]
