# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever is asked of a host ends in time, in the connection plugin as well, and with what it has started."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible import constants
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import silence
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.silence import (
    HostSilent,
    Late,
    answering_within,
    ending_within,
)
from helpers.waiting import wait_until


def in_a_command():
    started.append(subprocess.Popen(["sleep", "1000"]))
    process = started[-1]
    process.communicate()


def in_a_plugin_that_goes_on():
    while True:
        with contextlib.suppress(Exception):
            time.sleep(100)


def in_a_plugin_that_tidies_up():
    try:
        time.sleep(100)
    finally:
        time.sleep(100)


started: list[subprocess.Popen] = []


@pytest.fixture
def action(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(silence, "SECONDS_BETWEEN_ALARMS", 0.2)
    shell = SimpleNamespace(tmpdir="/a/folder")
    options = {"timeout": 10}
    connection = SimpleNamespace(_shell=shell, get_option=options.__getitem__)
    return SimpleNamespace(_task=SimpleNamespace(delegate_to=None), _connection=connection)


@pytest.mark.parametrize("hangs", [in_a_command, in_a_plugin_that_goes_on, in_a_plugin_that_tidies_up])
def test_a_host_that_hangs_is_named_in_time_and_gets_less_until_it_answers(action, hangs):
    variables = {"inventory_hostname": "web-0"}
    for seconds in (0.4, 0.2):
        begun = time.monotonic()
        with pytest.raises(HostSilent, match=r"^web-0 took a command"), answering_within(action, variables, 0.4, 0.2):
            hangs()
        assert seconds <= time.monotonic() - begun < seconds + 30
        # Ansible would remove it with another command, which nobody ends.
        assert action._connection._shell.tmpdir is None
    assert all(process.wait(60) for process in started)
    with answering_within(action, variables, 100, 0.01):
        time.sleep(0)
    with answering_within(action, variables, 100, 0.2):
        time.sleep(0.4)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_machine_to_which_a_task_is_delegated_is_the_one_that_is_named(action):
    action._task.delegate_to = "lb-0"
    with pytest.raises(HostSilent, match=r"^lb-0 "), answering_within(action, {"inventory_hostname": "web-0"}, 0.1):
        time.sleep(100)


def test_a_time_within_another_and_within_that_of_ansible():
    class Outer(BaseException):
        pass

    def ring(*_about):
        raise Outer

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Late), ending_within(0.2), ending_within(100):
            time.sleep(100)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Outer), ending_within(100):
            time.sleep(100)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Late), ending_within(0.1):
            time.sleep(100)
        with pytest.raises(Outer):
            time.sleep(100)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_host_that_is_down_is_never_taken_for_one_that_hangs(action):
    assert silence.seconds_to_connect(action) > 10
    action._connection.get_option = {"connection_timeout": 60, "timeout": 10}.__getitem__
    assert silence.seconds_to_connect(action) > 60
    action._connection.get_option = {"connection_timeout": None}.__getitem__
    assert silence.seconds_to_connect(action) > 30


def test_what_a_task_has_started_ends_with_what_that_has_started(tmp_path):
    told = tmp_path / "told"
    outer = subprocess.Popen(["sh", "-c", f"sleep 1000 & echo $! > {told}; wait"])
    wait_until(lambda: told.exists() and told.read_text().strip())
    silence.end_descendants(outer.pid)
    assert outer.wait(60) == 0
    wait_until(lambda: not is_running(told.read_text().strip()))


def is_running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"
