# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an answer looks like on the wire."""

from __future__ import annotations

from unittest import mock

import pytest
from helpers.simulator_inside import part

messages = part("http_messages")


def lines(response, keep_alive=True):
    with mock.patch.object(messages.email.utils, "formatdate", return_value="the date") as dated:
        head, _blank, body = response.rendered(keep_alive).partition(b"\r\n\r\n")
    dated.assert_called_once_with(usegmt=True)
    return head.decode("latin-1").split("\r\n"), body


def test_json_is_without_blanks():
    assert messages.json_response(200, {"a": [1, None], "b": "ü"}).body == b'{"a":[1,null],"b":"\\u00fc"}'


def test_an_answer_line_by_line():
    assert lines(messages.json_response(404, {"a": 1})) == (
        [
            "HTTP/1.1 404 Not Found",
            "Server: metadata-simulator",
            "Date: the date",
            "Content-Type: application/json; charset=utf-8",
            "Content-Length: 7",
            "Connection: keep-alive",
        ],
        b'{"a":1}',
    )


def test_the_last_answer_of_a_connection_says_so():
    assert lines(messages.Response(200), keep_alive=False)[0][-1] == "Connection: close"


def test_headers_of_its_own_win():
    response = messages.Response(200, b"x", "text/plain", {"Content-Type": "a/b", "X-Odd": "1"})
    head, body = lines(response)
    assert head[3:] == ["Content-Type: a/b", "Content-Length: 1", "Connection: keep-alive", "X-Odd: 1"]
    assert body == b"x"


@pytest.mark.parametrize(("status", "reason"), [(418, "I'm a Teapot"), (299, "Unknown")])
def test_a_status_that_nobody_has_heard_of_has_a_reason_too(status, reason):
    assert lines(messages.Response(status))[0][0] == f"HTTP/1.1 {status} {reason}"


def test_what_no_header_can_hold_does_no_harm():
    assert lines(messages.Response(200, headers={"X-Odd": "\u4e2d"}))[0][-1] == "X-Odd: ?"


def test_another_body_keeps_the_rest():
    response = messages.Response(203, b"x", "text/plain", {"X-Odd": "1"}).with_body(b"yy")
    assert (response.status, response.body, response.content_type, response.headers) == (
        203, b"yy", "text/plain", {"X-Odd": "1"},
    )  # fmt: skip
