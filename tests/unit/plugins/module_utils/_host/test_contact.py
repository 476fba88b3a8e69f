# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A command on a host that nobody hears any more says no longer that it is at work, and comes to an end."""

from __future__ import annotations

import os
import signal
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import files as _files
from ansible_collections.maintenance.azure.plugins.module_utils._host import ownership as _ownership
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalFile, begun
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import OwnedJournal
from ansible_collections.maintenance.azure.plugins.module_utils._steps import machine as _machine
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import Machine, StepError
from helpers.waiting import wait_until


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch):
    monkeypatch.setattr(_ownership, "SECONDS_BETWEEN_SIGNS", 0.05)
    monkeypatch.setattr(_ownership, "SECONDS_BETWEEN_RENEWALS", 0.1)
    monkeypatch.setattr(_ownership, "SECONDS_TO_END", 1)
    monkeypatch.setattr(_machine, "SECONDS_BETWEEN_LOOKS", 0.1)
    say_ahead(monkeypatch, 2)


def say_ahead(monkeypatch, seconds):
    monkeypatch.setattr(_files, "SECONDS_AHEAD", seconds)


@pytest.fixture
def journal(tmp_path):
    owned = OwnedJournal(JournalFile(tmp_path / "journal.json"), "r1")
    owned.journal.change(lambda data: begun(data, [], "r1", "b", "t"))
    return owned


@pytest.fixture
def listener():
    reading, writing = os.pipe()
    yield reading, writing
    os.close(writing)


def test_it_is_renewed_while_somebody_listens(journal, listener, monkeypatch):
    say_ahead(monkeypatch, 9000)
    with _ownership.Contact(journal, output=listener[1]) as contact:
        for _time in range(3):
            journal.at_work.say("r1", 100)
            wait_until(lambda: journal.at_work.left("r1") > 1000)
        assert not contact.is_lost()
    assert set(os.read(listener[0], 1000)) == {ord("\n")}
    os.close(listener[0])


def test_it_lapses_when_nobody_does(journal, listener):
    with _ownership.Contact(journal, output=listener[1]) as contact:
        os.close(listener[0])
        wait_until(lambda: not journal.at_work.left("r1"))
        assert contact.is_lost()
        with pytest.raises(StepError, match="can't be reached any more: no longer waited for"):
            Machine(60, contact=contact).wait_until(lambda: False)
        with pytest.raises(StepError, match="can't be reached any more"):
            Machine(60, contact=contact).pause(30, "for nothing")


def test_a_command_is_killed_before_others_may_take_over(journal, listener, tmp_path, monkeypatch):
    say_ahead(monkeypatch, 301)
    monkeypatch.setattr(_ownership, "SECONDS_TO_END", 300)
    os.close(listener[0])
    began = time.monotonic()
    with _ownership.Contact(journal, output=listener[1]) as contact:
        with pytest.raises(StepError, match="can't be reached any more: sh was killed"):
            Machine(250, contact=contact).run(["sh", "-c", f"sleep 200; touch {tmp_path}/went-on"])
        assert journal.at_work.left("r1") > 0
    # It was given what was left of its time.
    assert time.monotonic() - began > 0.8
    assert not (tmp_path / "went-on").exists()


def test_a_command_that_ends_in_time_has_ended_well(journal, listener, monkeypatch):
    say_ahead(monkeypatch, 300)
    os.close(listener[0])
    with _ownership.Contact(journal, output=listener[1]) as contact:
        assert Machine(60, contact=contact).run(["sh", "-c", "sleep 0.3; echo done"]) == (0, "done")
        assert contact.is_lost()


def test_what_another_run_has_taken_over_is_not_renewed(journal, listener):
    with _ownership.Contact(journal, output=listener[1]) as contact:
        journal.journal.change(lambda data: dict(data, run_id="r2"))
        journal.at_work.say("r2", 100)
        wait_until(contact.is_lost)
        assert contact.why == "Another run has taken this host over"
        assert journal.at_work.left("r2") > 90
    os.close(listener[0])


def test_a_journal_that_this_run_has_closed_leaves_nothing_behind(journal, listener, tmp_path):
    with _ownership.Contact(journal, output=listener[1]) as contact:
        journal.close()
        time.sleep(0.5)
        assert not contact.is_lost()
    assert [file.name for file in tmp_path.iterdir()] == ["journal.last.json"]
    os.close(listener[0])


def test_a_file_that_can_not_be_written_ends_it_in_time(journal, listener, monkeypatch):
    """A full disk: others must not take over while this goes on."""
    say_ahead(monkeypatch, 301)
    monkeypatch.setattr(_ownership, "SECONDS_TO_END", 300)
    with _ownership.Contact(journal, output=listener[1]) as contact:
        monkeypatch.setattr(journal.at_work, "say", lambda *_about: False)
        wait_until(contact.is_lost)
        assert "could not be written down" in contact.why
        assert journal.at_work.left("r1") > 0
    os.close(listener[0])


def test_a_host_that_was_frozen_goes_on_if_nobody_has_taken_over(journal, listener):
    clock = [1000.0]
    with _ownership.Contact(journal, output=listener[1], clock=lambda: clock[0]) as contact:
        clock[0] += 600
        time.sleep(0.5)
        assert not contact.is_lost()
    os.close(listener[0])


def test_a_terminal_that_goes_away_does_not_end_it(journal, listener):
    before = signal.getsignal(signal.SIGHUP)
    with _ownership.Contact(journal, output=listener[1]) as contact:
        os.kill(os.getpid(), signal.SIGHUP)
        # What it starts is not deaf to it.
        code, output = Machine(60, contact=contact).run(["sh", "-c", "kill -HUP $$; echo deaf"])
        assert (code, output) == (-signal.SIGHUP, "")
    assert signal.getsignal(signal.SIGHUP) == before
    os.close(listener[0])


def test_without_a_contact_a_command_is_waited_for_as_before():
    with pytest.raises(StepError, match=r"sleep did not end within 0\.2 s and was killed"):
        Machine(0.2).run(["sleep", "30"])
