# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client hears under each fault."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import NoAnswer, part

EMPTY = b'{"DocumentIncarnation":1,"Events":[]}'


def answer(simulator, **fault):
    simulator.fault(count=1, **fault)
    return simulator.read("web-0")


def heard(simulator, **fault):
    told = answer(simulator, **fault)
    return told.status, told.body


@pytest.mark.parametrize(
    ("kind", "status", "words"),
    [
        ("gone_410", 410, "Gone"),
        ("too_many_429", 429, "Too Many Requests"),
        ("error_500", 500, "Internal Server Error"),
        ("error_503", 503, "Service Unavailable"),
        ("timeout_408", 408, "Request Timeout"),
    ],
)
def test_a_status_and_its_words(simulator, kind, status, words):
    told = answer(simulator, kind=kind)
    assert (told.status, told.json) == (status, {"error": words})
    assert told.headers == {"content-type": "application/json; charset=utf-8"}


def test_any_status(simulator):
    assert heard(simulator, kind="status", status=299) == (299, b'{"error":"Error"}')
    assert heard(simulator, kind="status", status=418, body="short") == (418, b"short")


def test_a_status_has_the_headers_that_were_asked_for(simulator):
    told = answer(simulator, kind="error_500", retry_after=7, headers={"X-Odd": "1"}, body={"a": 1})
    assert (told.body, told.headers["retry-after"], told.headers["x-odd"]) == (b'{"a":1}', "7", "1")


@pytest.mark.parametrize("kind", ["empty_200", "html", "redirect", "wrong_shape", "raw"])
def test_so_has_each_other_answer_that_is_made_up(simulator, kind):
    told = answer(simulator, kind=kind, retry_after="soon", headers={"X-Odd": "1"})
    assert (told.headers["retry-after"], told.headers["x-odd"]) == ("soon", "1")


def test_empty(simulator):
    assert heard(simulator, kind="empty_200") == (200, b"")
    assert heard(simulator, kind="empty_200", status=500, body="x") == (200, b"")


@pytest.mark.parametrize(("more", "status"), [({}, 200), ({"status": 502}, 502)])
def test_html(simulator, more, status):
    told = answer(simulator, kind="html", **more)
    assert (told.status, told.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert told.body.startswith(b"<!DOCTYPE html>\n<html>")


@pytest.mark.parametrize(
    ("more", "status", "location"),
    [({}, 302, "http://login.invalid/"), ({"status": 307, "location": "http://x/"}, 307, "http://x/")],
)
def test_redirect(simulator, more, status, location):
    told = answer(simulator, kind="redirect", **more)
    assert (told.status, told.headers["location"], told.body) == (status, location, b"")


def test_wrong_shape(simulator):
    assert heard(simulator, kind="wrong_shape") == (200, b'{"DocumentIncarnation":1,"Events":"none"}')
    assert heard(simulator, kind="wrong_shape", body=[1]) == (200, b"[1]")


def test_raw(simulator):
    assert heard(simulator, kind="raw") == (200, b"")
    assert heard(simulator, kind="raw", status=203, body="hello") == (203, b"hello")
    assert heard(simulator, kind="raw", body={"a": 1}) == (200, b'{"a":1}')


def test_half_of_the_answer(simulator):
    assert heard(simulator, kind="truncated_json") == (200, EMPTY[: len(EMPTY) // 2])


@pytest.mark.parametrize(("body", "cut"), [(b"", b""), (b"a", b"a"), (b"ab", b"a"), (b"abc", b"a"), (b"abcd", b"ab")])
def test_of_a_short_answer_its_first_letter(body, cut):
    response = part("http_messages").Response(203, body)
    assert part("fault_answers").shortened(response).body == cut


def test_blanks_after_the_answer(simulator):
    assert heard(simulator, kind="huge_body", bytes=50) == (200, EMPTY + b" " * (50 - len(EMPTY)))
    assert len(answer(simulator, kind="huge_body").body) == 2_097_152
    assert heard(simulator, kind="huge_body", bytes=5) == (200, EMPTY)
    assert heard(simulator, kind="huge_body", bytes=len(EMPTY) + 1) == (200, EMPTY + b" ")


@pytest.mark.parametrize("kind", ["drop", "refuse"])
def test_no_answer_and_nothing_done(simulator, kind):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind=kind)
    with pytest.raises(NoAnswer):
        simulator.approve("web-0", event)
    assert not simulator.event(event)["approved"]
    assert [(entry["fault"], entry["status"], entry["answered"]) for entry in simulator.log()] == [(kind, None, None)]


def test_no_answer_and_all_done(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="lost_answer")
    with pytest.raises(NoAnswer):
        simulator.approve("web-0", event)
    assert simulator.event(event)["approved"]
    (entry,) = simulator.log()
    assert (entry["fault"], entry["status"], entry["answered"]) == ("lost_answer", None, None)


@pytest.mark.parametrize(("more", "seconds"), [({}, 5), ({"delay": 12}, 12), ({"delay": 0}, 0)])
def test_slow(simulator, more, seconds):
    assert heard(simulator, kind="slow", **more) == (200, EMPTY)
    assert simulator.time.passed == seconds


@pytest.mark.parametrize("kind", ["slow", "hang"])
def test_whoever_has_left_meanwhile_is_not_served(simulator, kind):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind=kind, seconds=3)
    with pytest.raises(NoAnswer):
        simulator.approve("web-0", event, client_is_there=lambda: False)
    assert not simulator.event(event)["approved"]


def test_a_made_up_answer_does_nothing(simulator):
    event = simulator.add_event(type="Reboot", resources=["web-0"])["id"]
    simulator.fault(kind="empty_200")
    assert simulator.approve("web-0", event).status == 200
    assert not simulator.event(event)["approved"]


def test_the_log_tells_the_fault_and_the_answer(simulator):
    answer(simulator, kind="error_503")
    simulator.read("web-0")
    assert [(entry["fault"], entry["status"]) for entry in simulator.log()] == [("error_503", 503), (None, 200)]
