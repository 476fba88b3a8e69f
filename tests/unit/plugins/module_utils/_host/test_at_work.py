# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is at work on a host: for as long as it was said, in this boot, and no longer."""

from __future__ import annotations

import subprocess

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import SECONDS_AHEAD, AtWork
from ansible_collections.maintenance.azure.plugins.plugin_utils._host import curl as _curl

RUN = "nightly 7; rm -rf /"


@pytest.fixture
def at_work(tmp_path, proc):
    return AtWork(tmp_path / "journal.json")


def test_it_lapses_by_the_host_s_own_clock(at_work, proc):
    assert at_work.left(RUN) == 0
    at_work.say(RUN)
    assert at_work.left(RUN) == SECONDS_AHEAD
    assert at_work.left("another") == 0
    proc.later(SECONDS_AHEAD - 1)
    assert at_work.left(RUN) == 1
    proc.later(2)
    assert at_work.left(RUN) == 0


def test_it_says_nothing_after_a_boot(at_work, proc):
    at_work.say(RUN, 600)
    proc.boots()
    assert at_work.left(RUN) == 0


def test_only_the_last_that_said_so_renews(at_work, proc):
    at_work.say(RUN)
    proc.later(20)
    assert at_work.renew("another") is False
    assert at_work.left(RUN) == 10
    assert at_work.renew(RUN) is True
    assert at_work.left(RUN) == SECONDS_AHEAD
    # A run that waits for the boot of its host is there all the time.
    proc.boots()
    assert at_work.renew(RUN) is True
    assert at_work.left(RUN) == SECONDS_AHEAD


@pytest.mark.parametrize("text", ["", "x", "a b c d", "a b nan", "a b inf", "\xff\xff", "a b 1e999"])
def test_what_is_damaged_keeps_nobody_out(at_work, tmp_path, text):
    (tmp_path / "journal.json.at_work").write_text(text)
    assert at_work.left(RUN) == 0
    assert at_work.renew(RUN) is False
    at_work.say(RUN)
    assert at_work.left(RUN) == SECONDS_AHEAD


def test_a_link_is_not_followed(at_work, tmp_path):
    target = tmp_path / "target"
    target.write_text("kept")
    (tmp_path / "journal.json.at_work").symlink_to(target)
    assert at_work.left(RUN) == 0
    at_work.say(RUN)
    assert target.read_text() == "kept"
    assert at_work.left(RUN) == SECONDS_AHEAD


def test_without_proc_the_clock_on_the_wall_does(at_work, proc):
    proc.is_not_there()
    assert _clock.told()["boot_id"] is None
    at_work.say(RUN)
    assert 28 < at_work.left(RUN) <= SECONDS_AHEAD


def shell(program):
    done = subprocess.run(["sh", "-c", program + "echo went on"], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert done.stdout.endswith("went on\n")
    return done.stdout


def test_a_shell_renews_it_too(tmp_path):
    path = tmp_path / "a folder" / "journal's.json"
    path.parent.mkdir()
    at_work = AtWork(path)
    program = _curl.renewal(str(path), RUN)
    shell(program)
    assert at_work.left(RUN) == 0
    at_work.say(RUN, 3)
    shell(_curl.renewal(str(path), "another"))
    assert at_work.left(RUN) <= 3
    shell(program)
    assert SECONDS_AHEAD - 3 < at_work.left(RUN) <= SECONDS_AHEAD
    assert [file.name for file in path.parent.iterdir()] == ["journal's.json.at_work"]
    shell(program)
    assert at_work.left(RUN) > SECONDS_AHEAD - 3


def test_a_shell_follows_no_link(tmp_path):
    target = tmp_path / "target"
    other = AtWork(tmp_path / "other.json")
    other.say(RUN, 3)
    (tmp_path / "other.json.at_work").rename(target)
    (tmp_path / "journal.json.at_work").symlink_to(target)
    before = target.read_text()
    shell(_curl.renewal(str(tmp_path / "journal.json"), RUN))
    assert target.read_text() == before


def test_a_shell_tells_the_clock_as_python_does():
    told, here = _curl.told_clock(shell(_curl.TELL_CLOCK)), _clock.told()
    assert told["boot_id"] == here["boot_id"]
    assert 0 <= here["seconds"] - told["seconds"] < 60


def test_a_shell_without_proc_tells_the_clock_on_the_wall():
    program = _curl.TELL_CLOCK.replace("/proc/", "/nowhere/")
    told = _curl.told_clock(shell(program))
    assert told["boot_id"] is None
    assert told["seconds"] > 1e9


@pytest.mark.parametrize("said", ["", "--maintenance.azure clock b 1e5--", "--maintenance.azure clock b'$(x) 1--"])
def test_what_is_no_clock_is_none(said):
    assert _curl.told_clock(said) is None
