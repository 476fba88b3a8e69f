# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service that takes requests and does not answer: status and signs of life go on, and news is seen soon after."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service import wire as _wire
from ansible_collections.maintenance.azure.plugins.module_utils._watch import settings as _settings
from ansible_collections.maintenance.azure.plugins.module_utils._watch import watch as _watch
from ansible_collections.maintenance.azure.plugins.module_utils._watch.notices import Notices
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reader import LONGEST_CALL, USUAL_CALL, Reader
from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_starter import ReflexStarter

HEARTBEAT = 30


class Hanging:
    """A transport by the clock of the test: what is sent in `hangs` is never answered."""

    endpoint = "x"

    def __init__(self, hangs, published=None):
        self.now = 0.0
        self.hangs = hangs
        self.published = published
        self.meanwhile = None

    def send(self, _method, _target, _body, _headers, _connect_seconds, seconds):
        if self.hangs[0] <= self.now < self.hangs[1]:
            ends = self.now + seconds
            while self.now + 1 < ends:
                self.now += 1
                self.meanwhile()
            self.now = ends
            raise _wire.TimedOut()
        self.now += 0.01
        is_there = self.published is not None and self.now >= self.published
        event = {"EventId": "A1", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web-0"]}
        body = {"DocumentIncarnation": 2 if is_there else 1, "Events": [event] if is_there else []}
        return _wire.Answer(200, {}, json.dumps(body).encode(), time.time())

    def close(self):
        return


class Ended(Exception):
    """In place of a signal."""


class Child:
    def exit_code(self):
        return 0

    def kill(self):
        return


class World:
    def __init__(self, folder, service, ends):
        self.service, self.ends = service, ends
        self.written, self.notices, self.seen = [], [], None
        given = {"name": "h", "status_file": str(folder / "status.json"), "journal": str(folder / "journal.json")}
        notify = [{"url": "http://127.0.0.1:1/"}]
        settings = {**_settings.DEFAULTS, **given, "heartbeat": HEARTBEAT, "notify": notify}

        def clock():
            return service.now

        def start(words):
            self.notices.append((service.now, words[-2]))
            return Child()

        reader = Reader([service], "2020-07-01", "web-0", clock)
        notices = Notices(settings, "", "", clock, start)
        self.watch = _watch.Watch(settings, reader, notices, ReflexStarter(settings, ""), clock, self.sleep)
        write = self.watch.status_file.write

        def noted(text):
            self.written.append(service.now)
            if json.loads(text)["events"] and self.seen is None:
                self.seen = service.now
            write(text)

        self.watch.status_file.write = noted

    def sleep(self, seconds):
        self.service.now += seconds
        if self.service.now >= self.ends:
            raise Ended

    def run(self):
        with pytest.raises(Ended):
            self.watch.run()
        return self


def gaps(moments):
    return [later - earlier for earlier, later in itertools.pairwise(moments)]


def test_after_a_hang_news_is_seen_within_one_call(tmp_path):
    world = World(tmp_path, Hanging((5, 80), published=80), 120).run()
    assert world.seen - 80 <= USUAL_CALL + 1.5


def test_the_status_and_the_signs_of_life_go_on_in_a_hang(tmp_path):
    world = World(tmp_path, Hanging((5, 305)), 320).run()
    # Every 10 seconds; the slices are of one.
    assert max(gaps(world.written)) <= 12
    assert max(gaps([at for at, _reason in world.notices])) <= HEARTBEAT + 2


def test_signs_of_life_are_sent_in_a_first_call_that_hangs(tmp_path):
    world = World(tmp_path, Hanging((0, 400)), 400).run()
    assert world.written == []
    moments = [at for at, _reason in world.notices]
    assert moments[0] <= HEARTBEAT + 2
    assert max(gaps(moments)) <= HEARTBEAT + 2


def test_the_first_call_may_take_two_minutes_and_later_ones_may_not(tmp_path):
    service = Hanging((0, 10))
    reader = Reader([service], "2020-07-01", "web-0", lambda: service.now)
    reader.while_waiting(lambda: None)
    reader.read()
    assert service.now == LONGEST_CALL
    reader.read()
    assert reader.problem is None
    service.hangs = (0, 10**6)
    for _turn in range(5):
        began = service.now
        reader.read()
        assert service.now - began == USUAL_CALL
