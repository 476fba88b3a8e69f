# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo, as `make demo` runs it: to its end, twice, and with ^C in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers import ROOT, ansible_run
from helpers.waiting import wait_until

pytestmark = [pytest.mark.once, pytest.mark.rest]
DEMO = ROOT / "demo"
PATIENCE = 400


def start(folder, output):
    """In a session of its own, as in a terminal, so that ^C can be pressed."""
    settings = ansible_run.environment(folder)
    # The demo brings its own.
    settings = {name: value for name, value in settings.items() if not name.startswith(("ANSIBLE_C", "RESULTS_"))}
    settings["ANSIBLE_COLLECTIONS_PATH"] = os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(ansible_run.MIRROR))
    with output.open("wb") as file:
        return subprocess.Popen(
            [sys.executable, str(DEMO / "run.py"), str(folder / "demo")],
            cwd=folder,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            # Where the tests themselves run in the background, it is ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )


def left_running(folder):
    """Commands of processes that have to do with this demo."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            environ, command = entry.read_bytes(), (entry.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in environ and int(entry.parent.name) != os.getpid():
            found.append(command.replace(b"\0", b" ").decode(errors="replace"))
    return found


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


def test_to_its_end_and_again(tmp_path):
    for _time in ("first", "second"):
        output = tmp_path / "output"
        process = start(tmp_path, output)
        assert process.wait(PATIENCE) == 0, output.read_text()
        said = output.read_text().replace(str((tmp_path / "demo").resolve()), ".build/demo")
        for words in (
            "in Azure a reboot takes 35 minutes",
            "@maintenance_pending:",
            "Wave 3 of 3: update domain 2",
            "has started",
            "All is well.",
        ):
            assert words in said
        end = said[said.rindex("\n== Done in") :].strip().splitlines()
        assert len(end) == 10
        assert max(map(len, end)) <= 110
    assert left_running(tmp_path) == []
    scratch = tmp_path / "demo"
    run = json.loads((scratch / "run.json").read_text())
    assert run["ok"] is True
    assert {host: outcome["state"] for host, outcome in run["hosts"].items()} == {
        **dict.fromkeys(["web-0", "web-1", "web-2", "app-0", "app-1", "app-2", "db-0", "db-2"], "restored"),
        "db-1": "passed",
    }
    assert all((scratch / host / "healthy").exists() for host in run["hosts"])
    assert ".build/demo/maintenance-report.html" in said
    assert (scratch / "maintenance-report.html").exists()
    # What Ansible keeps in the home folder aside, all is in the one folder.
    assert {path.relative_to(tmp_path).parts[0] for path in files(tmp_path)} <= {"demo", "home", "output"}

    picture = tmp_path / "run.svg"
    subprocess.run([sys.executable, DEMO / "picture.py", scratch / "maintenance-report.json", picture], check=True)
    drawn = ElementTree.parse(picture).getroot()
    words = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(run["hosts"]) <= set(words)
    assert len([part for part in drawn.iter() if part.get("class") == "event"]) == 9 + 1


@pytest.mark.parametrize("moment", ["9 VMs of a small shop", "What would be done", "Do it", "has started"])
def test_stopped_by_the_user(tmp_path, moment):
    output = tmp_path / "output"
    process = start(tmp_path, output)
    try:
        wait_until(lambda: moment in output.read_text() or process.poll() is not None, output.read_text)
        assert process.poll() is None, output.read_text()
        # A terminal sends it to all processes of the foreground.
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(PATIENCE) == 130, output.read_text()
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    said = output.read_text()
    assert said.rstrip().endswith("== Stopped. Nothing is left running; `make demo` begins anew.")
    assert "Traceback" not in said
    wait_until(lambda: left_running(tmp_path) == [], lambda: str(left_running(tmp_path)))
