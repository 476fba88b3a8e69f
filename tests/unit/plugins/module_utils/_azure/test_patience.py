# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a request is repeated, how fast, and when the conversation ends: on a clock that the test moves."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service import endpoint as _endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._service import patience as _patience
from ansible_collections.maintenance.azure.plugins.module_utils._service import targets as _targets
from ansible_collections.maintenance.azure.plugins.module_utils._service import wire as _wire
from hypothesis import given
from hypothesis import strategies as st

TARGET = _targets.events_target("2020-07-01")


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        assert seconds >= 0
        self.now += seconds


class Script:
    """A transport that answers from a list, its last item for ever, and keeps the times of the requests."""

    endpoint = "http://service"

    def __init__(self, clock, *script, seconds_each=0.0):
        self.clock = clock
        self.script = list(script)
        self.seconds_each = seconds_each
        self.sent_at = []

    def send(self, method, target, body, headers, connect_seconds, seconds):
        assert headers["Metadata"] == "true"
        self.sent_at.append(self.clock.now)
        self.clock.now += min(self.seconds_each, seconds)
        item = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(item, Exception):
            raise item
        return item


def answer(status, body=b"{}", **headers):
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    return _wire.Answer(status, fields, body, 0.0)


def conversation(*script, timeout=130, seconds_each=0.0, jitter=lambda: 0.5):
    clock = Clock()
    transport = Script(clock, *script, seconds_each=seconds_each)
    talk = _patience.Conversation(transport, timeout, clock=clock, sleep=clock.sleep, jitter=jitter)
    return talk, transport, clock


PASSING = [
    answer(408),
    answer(410),
    answer(429),
    answer(500),
    answer(503),
    answer(200, b""),
    answer(200, b"  \n"),
    _wire.NotAccepted("refused"),
    _wire.Broken("reset"),
]


@pytest.mark.parametrize("trouble", PASSING, ids=str)
def test_passing_trouble_is_asked_again(trouble):
    talk, transport, _clock = conversation(trouble, trouble, answer(200))
    assert talk.get(TARGET).status == 200
    assert len(transport.sent_at) == 3


@pytest.mark.parametrize(
    ("final", "kind"),
    [
        (answer(400), "rejected"),
        (answer(403), "rejected"),
        (answer(404), "not_found"),
        (answer(405), "rejected"),
        (answer(204, b"x"), "rejected"),
        (answer(301, location="http://elsewhere"), "redirect"),
        (answer(302, location="http://elsewhere"), "redirect"),
        (answer(200, b"  <!DOCTYPE html>"), "html"),
        (answer(200, b"sorry", content_type="text/html"), "html"),
        (_wire.TooLarge(), "too_large"),
        (_wire.NotResolved("no such name"), "not_resolved"),
        (_wire.TimedOut(), "timed_out"),
    ],
    ids=str,
)
def test_the_rest_ends_the_conversation_at_once(final, kind):
    talk, transport, clock = conversation(final)
    with pytest.raises(_patience.ImdsError) as failure:
        talk.get(TARGET)
    assert (failure.value.kind, len(transport.sent_at), clock.now) == (kind, 1, 1000.0)
    assert "GET http://service/metadata/scheduledevents" in str(failure.value)


def test_instance_metadata_that_is_not_there_yet_is_asked_for_again_a_few_times():
    talk, transport, _clock = conversation(answer(404), answer(404), answer(200))
    assert talk.get(_targets.INSTANCE_TARGET).status == 200
    talk, transport, clock = conversation(answer(404))
    with pytest.raises(_patience.ImdsError, match="404"):
        talk.get(_targets.INSTANCE_TARGET)
    assert len(transport.sent_at) == 1 + _patience.NOT_THERE_YET_TRIES
    assert clock.now < 1010


def test_nobody_at_the_address_costs_fifteen_seconds_not_the_whole_timeout():
    talk, _transport, clock = conversation(_wire.NotAccepted("refused"))
    with pytest.raises(_patience.ImdsError, match="Not an Azure VM, or the service is blocked") as failure:
        talk.get(TARGET)
    assert failure.value.kind == "not_accepted"
    assert 10 <= clock.now - 1000 <= 15


def test_a_service_that_was_there_and_restarts_gets_the_whole_timeout():
    talk, _transport, clock = conversation(answer(503), _wire.NotAccepted("refused"))
    with pytest.raises(_patience.ImdsError):
        talk.get(TARGET)
    assert 120 <= clock.now - 1000 <= 130


def test_a_410_of_seventy_seconds_is_outlasted():
    clock = Clock()

    class Updating(Script):
        def send(self, *args):
            self.script = [answer(410) if clock.now < 1070 else answer(200)]
            return super().send(*args)

    talk = _patience.Conversation(Updating(clock, None), 130, clock=clock, sleep=clock.sleep)
    assert talk.get(TARGET).status == 200
    assert clock.now < 1080


def test_retry_after_is_honoured():
    talk, transport, _clock = conversation(answer(429, retry_after="7"), answer(200))
    talk.get(TARGET)
    assert transport.sent_at[1] - transport.sent_at[0] == pytest.approx(7)


def test_retry_after_beyond_the_deadline_fails_now_and_says_so():
    talk, transport, clock = conversation(answer(429, retry_after="600"), timeout=30)
    with pytest.raises(_patience.ImdsError, match="asked to wait 600 s, longer than the timeout of 30 s"):
        talk.get(TARGET)
    assert (len(transport.sent_at), clock.now) == (1, 1000.0)


@pytest.mark.parametrize(
    ("value", "seconds"), [("", None), ("3", 3), ("Mon, 01 Jan 2001 00:00:00 GMT", 0), ("soon", None)]
)
def test_forms_of_retry_after(value, seconds):
    assert _patience.retry_after({"retry-after": value} if value else {}) == seconds


@given(
    st.lists(st.sampled_from(PASSING), min_size=1, max_size=30),
    st.integers(1, 200),
    st.floats(0, 3),
    st.floats(0, 1),
)
def test_never_past_the_deadline_and_never_faster_than_the_service_allows(script, timeout, seconds_each, jitter):
    talk, transport, clock = conversation(*script, timeout=timeout, seconds_each=seconds_each, jitter=lambda: jitter)
    with pytest.raises(_patience.ImdsError):
        talk.get(TARGET)
    assert clock.now - 1000 <= timeout + 0.001
    starts = transport.sent_at
    assert all(later - earlier > 1 for earlier, later in zip(starts, starts[5:], strict=False))


def test_where_the_second_after_too_many_ends_at_the_deadline_nothing_more_is_sent():
    talk, _transport, clock = conversation(
        answer(408), answer(429), timeout=140, seconds_each=0.125, jitter=lambda: 0.125
    )
    with pytest.raises(_patience.ImdsError):
        talk.get(TARGET)
    assert clock.now - 1000 <= 140


@given(st.floats(0, 1))
def test_waits_grow_and_stay_bounded(jitter):
    talk, transport, _clock = conversation(answer(503), jitter=lambda: jitter)
    with pytest.raises(_patience.ImdsError):
        talk.get(TARGET)
    gaps = [later - earlier for earlier, later in zip(transport.sent_at, transport.sent_at[1:], strict=False)]
    assert gaps[0] < 1
    assert max(gaps) <= _patience.LONGEST_BACKOFF * 1.25
    assert len(gaps) < 30


@pytest.mark.parametrize("status", [408, 410, 429, 503])
def test_a_post_that_was_turned_away_is_sent_again(status):
    talk, transport, _clock = conversation(answer(status), _wire.NotAccepted("refused"), answer(200))
    assert talk.post(TARGET, "{}").status == 200
    assert len(transport.sent_at) == 3


class BusyNeighbour:
    """The service's 5 requests a second, of which somebody else on the VM takes all but one."""

    endpoint = "http://service"

    def __init__(self, clock):
        self.clock = clock
        self.taken_at = float("-inf")
        self.answered = []

    def send(self, method, *_others):
        is_too_many = self.clock.now - self.taken_at < 1.0
        if not is_too_many:
            self.taken_at = self.clock.now
        self.answered.append((method, 429 if is_too_many else 200))
        return answer(self.answered[-1][1])


def test_beside_others_that_ask_often_an_approval_is_not_kept_out_by_the_readings_before_it():
    clock = Clock()
    service = BusyNeighbour(clock)
    talk = _patience.Conversation(service, 20, clock=clock, sleep=clock.sleep, jitter=lambda: 0.5)
    talk.get(TARGET)
    talk.post(TARGET, "{}", before_next_try=lambda: talk.get(TARGET))
    assert service.answered == [("GET", 200), ("POST", 429), ("GET", 200), ("POST", 200)]
    assert clock.now - 1000.0 < 4


@pytest.mark.parametrize(
    "lost", [_wire.Broken("reset"), _wire.TimedOut(), answer(500), answer(502), answer(504)], ids=str
)
def test_a_post_that_may_have_arrived_is_not_sent_again(lost):
    talk, transport, _clock = conversation(lost)
    with pytest.raises(_patience.ImdsError):
        talk.post(TARGET, "{}")
    assert len(transport.sent_at) == 1


@pytest.mark.parametrize("taken", [answer(200, b""), answer(202), answer(204, b""), answer(200, b"<html>")], ids=str)
def test_any_2xx_takes_a_post(taken):
    talk, _transport, _clock = conversation(taken)
    assert talk.post(TARGET, "{}") is taken


@pytest.mark.parametrize(
    ("endpoint", "result"),
    [
        ("http://169.254.169.254", "http://169.254.169.254"),
        ("http://169.254.169.254/", "http://169.254.169.254"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_endpoints_that_are_right(endpoint, result):
    assert _endpoint.check_endpoint(endpoint) == result


@pytest.mark.parametrize(
    ("endpoint", "part"),
    [
        ("169.254.169.254", "http:// is missing"),
        ("https://169.254.169.254", "plain http only"),
        ("ftp://169.254.169.254", "ftp is not a scheme"),
        ("http://169.254.169.254/metadata", "leave out the path"),
        ("http://169.254.169.254?x=1", "leave out the path"),
        ("http://me:secret@169.254.169.254", "takes no credentials"),
        ("http://169.254.169.254:http", "port is not a number"),
        ("http://169.254.169.254:70000", "port is not a number"),
        ("http://", "must look like"),
        ("http://a b", "must look like"),
        ("", "http:// is missing"),
    ],
)
def test_endpoints_that_are_wrong(endpoint, part):
    with pytest.raises(ValueError, match=part) as complaint:
        _endpoint.check_endpoint(endpoint)
    assert "\n" not in str(complaint.value)
