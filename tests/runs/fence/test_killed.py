# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""History 11: the controller is killed in a long step. Others can take over soon, and by then nobody is at work."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import AtWork
from helpers.ansible_run import environment
from helpers.sshd_process import SSHD, sshd
from helpers.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.waits(long=True)

# The step would run for so long: longer than anything is waited for here.
LONG = 3 * PATIENCE

needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd on this machine: install openssh-server")
needs_sudo = pytest.mark.skipif(
    shutil.which("sudo") is None or os.geteuid() != 0, reason="sudo needs to be there, and to ask no password"
)
WAYS = [
    "local",
    pytest.param("local with sudo", marks=[needs_sudo, pytest.mark.rest]),
    pytest.param("ssh", marks=[needs_sshd, pytest.mark.rest]),
    pytest.param("ssh with multiplexing", marks=[needs_sshd, pytest.mark.rest]),
    pytest.param("ssh with sudo", marks=[needs_sshd, needs_sudo, pytest.mark.rest]),
]


@contextlib.contextmanager
def host_vars(way, folder):
    more = {"ansible_become": True, "ansible_become_method": "sudo"} if "sudo" in way else {}
    if not way.startswith("ssh"):
        yield more
        return
    with sshd(folder) as variables, tempfile.TemporaryDirectory(prefix="mux") as short:
        if "multiplexing" in way:
            variables["ansible_ssh_args"] = f"-o ControlMaster=auto -o ControlPersist=60 -o ControlPath={short}/%C"
        try:
            yield {**variables, **more}
        finally:
            if "multiplexing" in way:
                target = [f"-oControlPath={short}/%C", f"-p{variables['ansible_port']}", variables["ansible_user"]]
                subprocess.run(
                    ["ssh", *target[:2], "-O", "exit", f"{target[2]}@127.0.0.1"], check=False, capture_output=True
                )


def is_there(pid):
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.parametrize("way", WAYS)
def test_what_a_killed_run_was_at_lapses_and_stops(fleet, tmp_path, way):
    started = tmp_path / "started"
    steps = [
        {"command": {"drain": ["sh", "-c", f"echo $$ > {started}.new; mv {started}.new {started}; exec sleep {LONG}"]}},
        {"command": {"drain": ["touch", f"{tmp_path}/second"]}},
    ]
    read = {
        "maintenance.azure._read": {
            "do": "hosts",
            "journal": "{{ drain_journal }}",
            "endpoint": "{{ maintenance_endpoint }}",
        }
    }
    clock = {name: f"{{{{ maintenance_status.host_clock.{name} }}}}" for name in ("boot_id", "seconds")}
    role = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
    order = {"run_id": "r1", "events": ["A1"], "fence": {**clock, "events": ["A1"]}}
    role["vars"] = {"__maintenance_ordered": order}
    book = [
        {
            "hosts": "web",
            "gather_facts": False,
            "vars": {"drain_steps": steps},
            "tasks": [{**read, "register": "maintenance_status"}, role],
        }
    ]
    (tmp_path / "book.json").write_text(json.dumps(book))
    at_work = AtWork(tmp_path / "web" / "journal.json")
    with host_vars(way, tmp_path) as variables, (tmp_path / "output").open("wb") as output:
        run = subprocess.Popen(
            ["ansible-playbook", "-i", str(fleet.inventory(**variables)), "book.json"],
            cwd=tmp_path,
            env=environment(tmp_path, ANSIBLE_PIPELINING="1"),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        try:
            wait_until(lambda: started.exists() or run.poll() is not None)
            assert run.poll() is None, (tmp_path / "output").read_text()
            step = int(started.read_text())
            # It is renewed for as long as the run is there.
            for _time in range(2):
                said = Path(at_work.path).stat().st_mtime_ns
                wait_until(lambda said=said: Path(at_work.path).stat().st_mtime_ns != said)
            # Only the run itself: its workers must notice by themselves.
            os.kill(run.pid, signal.SIGKILL)
            wait_until(lambda: not at_work.left("r1"), lambda: "Nobody may take over")
            assert not is_there(step)
            wait_until(lambda: fleet.journal()["steps"][0]["status"] == "failed", lambda: str(fleet.journal()))
        finally:
            run.kill()
            run.wait()
    journal = fleet.journal()
    assert "can't be reached any more: sh was killed" in journal["steps"][0]["error"]
    assert not (tmp_path / "second").exists()
