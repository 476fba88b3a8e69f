# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What curl wrote becomes answers or exceptions; nothing that is cut, failed or strange becomes an answer."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service import targets as _targets
from ansible_collections.maintenance.azure.plugins.module_utils._service import wire as _wire
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.curl import (
    CONNECTED,
    LARGEST_ANSWER,
    CurlTransport,
    Told,
    Unusable,
    answers_of,
)
from hypothesis import given
from hypothesis import strategies as st

AT = 1794800000
END = f"{CONNECTED}0.000123;".encode()
EVENTS = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: 1\r\nx-a: 2\r\n\r\n{"Events": []}'
INSTANCE = b'HTTP/1.0 200 OK\r\n\r\n{"name": "web"}'


def told(output, exit_code=0):
    return answers_of(Told(output, exit_code, AT))


def test_two_answers():
    events, instance = told(EVENTS + END + INSTANCE + END)
    assert events == _wire.Answer(200, {"content-type": "application/json", "x-a": "2"}, b'{"Events": []}', AT)
    assert (instance.status, instance.body) == (200, b'{"name": "web"}')


def test_what_comes_before_the_answer_is_not_the_answer():
    (answer,) = told(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\n" + END)
    assert (answer.status, answer.headers, answer.body) == (503, {"retry-after": "3"}, b"")


@pytest.mark.parametrize(
    ("output", "code", "kind"),
    [
        (END + b"curl: (6) Could not resolve host: x\n", 6, _wire.NotResolved),
        (f"{CONNECTED}0.000000;".encode() + b"curl: (7) Failed to connect\n", 7, _wire.NotAccepted),
        (f"{CONNECTED}0,000000;".encode() + b"curl: (28) Connection timed out\n", 28, _wire.NotAccepted),
        (END + b"curl: (28) Operation timed out\n", 28, _wire.TimedOut),
        (END + b"curl: (52) Empty reply from server\n", 52, _wire.Broken),
        (EVENTS[:-3] + END + b"curl: (18) transfer closed with 3 bytes remaining\n", 18, _wire.Broken),
        (EVENTS, 0, _wire.Broken),
        (b"", 0, _wire.Broken),
        (b"{}" + END, 0, _wire.Broken),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n" + END, 0, _wire.Broken),
        (EVENTS + b" " * LARGEST_ANSWER, 23, _wire.TooLarge),
        (EVENTS + b" " * _wire.LARGEST_BODY + END, 0, _wire.TooLarge),
    ],
)
def test_no_answer(output, code, kind):
    (failure,) = told(output, code)
    assert failure.__class__ is kind


def test_the_second_fails():
    first, second = told(EVENTS + END + b"HTTP/1.1 200 OK\r\n\r\n{" + END + b"curl: (18) closed\n", 18)
    assert first.status == 200
    assert second.__class__ is _wire.Broken


@pytest.mark.parametrize("code", [2, 126, 127])
def test_a_curl_that_can_not_do_it(code):
    with pytest.raises(Unusable):
        told(b"", code)


@given(st.integers(0, len(EVENTS + END + INSTANCE + END) - 1), st.sampled_from([0, 18, 23, 56]))
def test_a_cut_is_never_an_answer(length, code):
    whole = told(EVENTS + END + INSTANCE + END)
    found = told((EVENTS + END + INSTANCE + END)[:length], code)
    answers = [answer for answer in found if isinstance(answer, _wire.Answer)]
    assert answers == whole[: len(answers)]
    assert len(answers) < 2


@given(st.binary(max_size=300), st.integers(1, 125).filter(lambda code: code != 2))
def test_a_failure_is_never_an_answer(output, code):
    assert isinstance(told(output, code)[-1], Exception)


class Recorder:
    def __init__(self):
        self.programs = []

    def run(self, program):
        self.programs.append(program)
        return [Told(EVENTS + END + INSTANCE + END, 0, AT)]


def test_what_was_asked_along_is_not_asked_again():
    host = Recorder()
    transport = CurlTransport(host, "http://169.254.169.254", with_instance=True)
    assert transport.send("GET", "/events", None, {}, 5, 10).body == b'{"Events": []}'
    assert transport.send("GET", _targets.INSTANCE_TARGET, None, {}, 5, 10).body == b'{"name": "web"}'
    assert len(host.programs) == 1
    transport.send("GET", "/events", None, {}, 5, 10)
    assert "--next" not in host.programs[-1]


@given(st.text(max_size=50))
def test_nothing_of_a_body_becomes_a_word_of_the_shell(text):
    host = Recorder()
    CurlTransport(host, "http://169.254.169.254", with_instance=False).send("POST", "/events", text, {}, 5, 10)
    printed = host.programs[0].split("printf '%b' '")[1].split("'")[0]
    assert set(printed) <= set("\\01234567")
    assert bytes(int(number, 8) for number in printed.split("\\0")[1:]).decode() == text
