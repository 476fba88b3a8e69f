# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is at work on a host: for as long as it was said, in this boot, and no longer."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import SECONDS_AHEAD, AtWork

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
