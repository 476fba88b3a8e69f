# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often the watcher asks and writes, also beside a service that hangs, by a clock that the test moves."""

from __future__ import annotations

import itertools
import json
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import protocol as _protocol
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import watch as _watch
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.children import Notices, ReflexStarter
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import LONGEST_CALL, USUAL_CALL, Reader
from helpers.simulator_process import Simulator

# How often the watcher asks and writes, by a clock that the test moves, against the real simulator.


class Ended(Exception):
    """In place of a signal."""


class Pace:
    """A watch in this process. `sleeps` are the pauses that it has made; `naps` are what they took in place of that."""

    def __init__(self, folder, simulator):
        self.now = 1000.0
        self.sleeps, self.naps = [], {}
        self.status_file = folder / "status.json"
        given = {"name": "h", "status_file": str(self.status_file), "journal": str(folder / "journal.json")}
        settings = dict(_protocol.DEFAULTS, **given)
        reader = Reader([HttpTransport(simulator.endpoint("web-0"))], "2020-07-01", "web-0", lambda: self.now)
        notices, reflexes = Notices(settings, "", "", lambda: self.now), ReflexStarter(settings, "")
        self.watch = _watch.Watch(settings, reader, notices, reflexes, lambda: self.now, self.sleep)

    def sleep(self, seconds):
        self.sleeps.append(seconds)
        self.now += self.naps.get(len(self.sleeps), seconds)
        if len(self.sleeps) == 10:
            raise Ended

    def look(self, seconds):
        """One reading after so much time. Returns whether the status was written."""
        self.now += seconds
        before = self.written()
        self.watch.look()
        return self.written() != before

    def written(self):
        # Two files may be of one tick of the kernel's clock, but each is a new one.
        found = self.status_file.stat() if self.status_file.exists() else None
        return found and (found.st_ino, found.st_mtime_ns)


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web-0"}]}, requests_per_second=0) as fleet:
        yield fleet


@pytest.fixture
def pace(tmp_path, simulator):
    simulator.reset()
    return Pace(tmp_path, simulator)


def test_the_same_document_is_written_only_now_and_then(simulator, pace):
    assert pace.look(0)
    assert [pace.look(1) for _turn in range(12)] == [False] * 9 + [True] + [False] * 2
    assert len(simulator.log()) == 13
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    assert pace.look(1)


def test_it_asks_once_in_each_interval(simulator, pace):
    with pytest.raises(Ended):
        pace.watch.run()
    assert pace.sleeps == [1] * 10
    assert len(simulator.log()) == 10
    assert not pace.status_file.exists()


def test_a_vm_that_stood_still_asks_once_and_not_for_each_second_that_it_missed(simulator, pace):
    pace.naps = {4: 3600}
    with pytest.raises(Ended):
        pace.watch.run()
    assert pace.sleeps[:4] == [1] * 4
    assert pace.sleeps[4] == 0.5
    assert all(0.5 <= seconds <= 1 for seconds in pace.sleeps)
    assert len(simulator.log()) == 10


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "gone_410"},
        {"kind": "too_many_429", "retry_after": 1},
        {"kind": "error_503"},
        {"kind": "empty_200"},
        {"kind": "drop"},
        {"kind": "html"},
    ],
    ids=lambda fault: fault["kind"],
)
def test_after_minutes_of_faults_an_event_is_seen_with_the_next_reading(simulator, pace, fault):
    assert pace.look(0)
    simulator.fault(**fault)
    for _second in range(300):
        pace.look(1)
    status = json.loads(pace.status_file.read_text())
    assert status["events"] == []
    assert status["watcher"]["problem"]
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    simulator.clear_faults()
    # Where the service has asked for a pause, that one is kept.
    pace.look(fault.get("retry_after", 0) + 1)
    status = json.loads(pace.status_file.read_text())
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert status["watcher"]["problem"] is None


# A service that takes requests and does not answer: status and signs of life go on, and news is seen soon after.

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
            raise _http.TimedOut()
        self.now += 0.01
        is_there = self.published is not None and self.now >= self.published
        event = {"EventId": "A1", "EventType": "Reboot", "EventStatus": "Scheduled", "Resources": ["web-0"]}
        body = {"DocumentIncarnation": 2 if is_there else 1, "Events": [event] if is_there else []}
        return _http.Answer(200, {}, json.dumps(body).encode(), time.time())

    def close(self):
        return


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
        settings = {**_protocol.DEFAULTS, **given, "heartbeat": HEARTBEAT, "notify": notify}

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
