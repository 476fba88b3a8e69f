# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a report says about every fleet, and that its page holds no markup but its own."""

from __future__ import annotations

import datetime
import html.parser
import json
import re
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import plain
from ansible_collections.maintenance.azure.plugins.plugin_utils._report import page as _page
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import (
    MOST_LINES,
    NO_DOMAIN,
    make_report,
    record_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.page import coming, last_run, render_page
from hypothesis import given, settings
from hypothesis import strategies as st

NOW = 1794787200.0  # 2026-11-16T00:00:00Z
READ_AT = "2026-11-15T23:59:50Z"
HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"'{{ 7 * 7 }}{% x %}${x}&amp;"


def event(event_id, *resources, kind="Reboot", due="2026-11-16T00:15:00Z", status="Scheduled", words="Maintenance."):
    return {
        "id": event_id,
        "type": kind,
        "status": status,
        "source": "Platform",
        "resources": list(resources),
        "not_before": None if status == "Started" else due,
        "duration_seconds": None,
        "description": words,
    }


def host(*events, domain="0", read_at=READ_AT):
    this_host = {"update_domain": domain} if domain is not None else None
    return {"maintenance_status": {"this_host": this_host, "events": list(events), "read_at": read_at}}


def test_a_host_that_is_not_the_vm_that_it_says_is_unknown_and_covers_nothing():
    hosts = {"web-0": host(event("E", "web-0", "db1")), "evil": host(event("E", "web-0", "db1"))}
    hosts["web-0"]["maintenance_status"]["this_host"]["vm_name"] = "web-0"
    hosts["evil"]["maintenance_status"]["this_host"]["vm_name"] = "db1"
    made = make_report(hosts, hosts, None, NOW)
    (entry,) = made["events"]
    assert (entry["hosts"], entry["uncovered"]) == (["web-0"], ["db1"])
    evil = next(one for one in made["hosts"] if one["name"] == "evil")
    assert evil["state"] == "unknown"
    assert evil["unread"].startswith("evil says that it is the VM db1, which the inventory does not confirm.")
    assert "Not trusted: evil says" in " ".join(made["lines"])


def a_run(**changes):
    return {
        "ok": True,
        "started_at": "2026-11-15T23:00:00Z",
        "ended_at": "2026-11-15T23:10:00Z",
        "stopped": "",
        "left": {"drained": []},
        "hosts": {
            "a": {
                "state": "restored",
                "pass": 1,
                "wave": 1,
                "drained_at": "2026-11-15T23:01:00Z",
                "restored_at": "2026-11-15T23:06:00Z",
            }
        },
        "events": {
            "E": {
                "type": "Reboot",
                "hosts": ["a"],
                "approved_by": "a",
                "approved_at": "2026-11-15T23:02:00Z",
                "started_at": "2026-11-15T23:02:30Z",
                "over_at": "2026-11-15T23:05:00Z",
                "outcome": "over",
            }
        },
        **changes,
    }


def test_every_state():
    fleet = {
        "web-10": host(event("R", "web-10", "web-2")),
        "web-2": {},
        "web-1": host(event("S", "web-1", status="Started"), domain="1"),
        "web-3": host(domain="1"),
        "web-4": {"maintenance_status": None, "maintenance_unread": "no route to host"},
    }
    report = make_report(fleet, fleet, None, NOW)
    assert [one["name"] for one in report["hosts"]] == ["web-1", "web-2", "web-3", "web-4", "web-10"]
    assert {one["name"]: one["state"] for one in report["hosts"]} == {
        "web-1": "started",
        # It was not read, but its neighbour shows an event that names it.
        "web-2": "pending",
        "web-3": "clear",
        "web-4": "unknown",
        "web-10": "pending",
    }
    counts = report["counts"]
    assert {key: counts[key] for key in ("hosts", "pending", "started", "unknown", "clear", "not_read")} == {
        "hosts": 5,
        "pending": 2,
        "started": 1,
        "unknown": 1,
        "clear": 1,
        "not_read": 2,
    }
    assert (counts["next_due"], counts["next_seconds_left"]) == ("2026-11-16T00:15:00Z", 900)
    assert [one["name"] for one in report["domains"]] == ["update domain 0", "update domain 1", NO_DOMAIN]
    assert report["lines"][-1] == "Nothing is known about web-4."
    assert "no route to host" in render_page(report, "report.json")


def test_old_readings_are_said_to_be_old():
    fleet = {"a": host(read_at="2026-11-15T22:00:00Z"), "b": host()}
    report = make_report(fleet, fleet, None, NOW)
    assert (report["stale"], report["oldest_reading"]) == (True, "2026-11-15T22:00:00Z")
    assert "Some readings are old" in render_page(report, "report.json")
    assert make_report(["b"], fleet, None, NOW)["stale"] is False


def test_the_last_run_in_time_order():
    report = make_report(["a"], {"a": host()}, a_run(), NOW)
    ((row,)) = last_run(report)["rows"]
    ((span,), (window,)) = row["bars"], row["events"]
    assert (row["title"], span["left"], span["width"]) == ("update domain 0", 10.0, 50.0)
    assert (window["left"], window["width"], window["started"]) == (20.0, 30.0, 25.0)
    page = render_page(report, "report.json")
    for words in ("drained", "approved", "started", "over", "restored", "23:02:30", "all is well"):
        assert words in page


def test_who_is_left_drained_is_out_to_the_end_and_said_so():
    run = a_run(ok=False, left={"drained": ["a"]}, stopped="Not begun, as an earlier wave went wrong.")
    run["hosts"]["a"] = {**run["hosts"]["a"], "state": "left_drained", "restored_at": None, "error": "unhealthy"}
    report = make_report(["a"], {"a": host()}, run, NOW)
    assert last_run(report)["rows"][0]["bars"][0]["width"] == 90.0
    page = render_page(report, "report.json")
    for words in ("Left drained: a", "left drained", "a: unhealthy", "something is left to do", "as an earlier wave"):
        assert words in page


@pytest.mark.parametrize("run", [{}, [], "x", {"hosts": {}}, {"hosts": [], "events": {}, "left": {}}])
def test_what_is_no_run_is_refused(run):
    with pytest.raises(ValueError, match="drain_then_approve"):
        make_report(["a"], {"a": host()}, run, NOW)


def test_many_events_at_one_time_are_one_line_and_many_times_are_summed_up():
    same = {f"h{n}": host(event(f"E{n}", f"h{n}")) for n in range(40)}
    ((row,)) = coming(make_report(same, same, None, NOW))["rows"]
    assert (len(row["lines"]), len(row["lines"][0]["hosts"]), row["more"]) == (1, 40, [])
    apart = {f"h{n}": host(event(f"E{n}", f"h{n}", due=f"2026-11-16T00:{n:02d}:00Z")) for n in range(1, 40)}
    ((row,)) = coming(make_report(apart, apart, None, NOW))["rows"]
    assert (len(row["lines"]), len(row["more"])) == (5, 34)
    assert row["lines"][0]["hosts"] == ["h1"]


class Outline(html.parser.HTMLParser):
    """The elements of a page, and the text outside of scripts and styles."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.words, self._inside = [], [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [name for name, _value in attrs]
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside not in ("script", "style"):
            self.words.append(data)


def hostile_report(words):
    fleet = {
        words: {**host(event(words, words, kind=words, words=words), domain=words), "maintenance_vm_name": words},
        "b": {"maintenance_unread": words},
    }
    run = a_run(stopped=words)
    run["hosts"] = {words: {**run["hosts"]["a"], "error": words, "state": words}}
    run["events"] = {words: {**run["events"]["E"], "hosts": [words], "approved_by": words, "outcome": words}}
    return make_report(fleet, fleet, run, NOW, title=words)


def test_words_from_outside_are_words():
    # Both come before the other host.
    plain = Outline(render_page(hostile_report("a word"), "r.json"))
    hostile = Outline(render_page(hostile_report(HOSTILE), "r.json"))
    assert hostile.elements == plain.elements
    assert hostile.attributes == plain.attributes
    assert "".join(hostile.words).count(HOSTILE) == "".join(plain.words).count("a word")


def test_no_template_lets_markup_through():
    """What a value is must be decided in one place: the environment, which escapes everything."""
    templates = list(Path(_page.__file__).with_name("templates").glob("*.j2"))
    assert "page.html.j2" in [template.name for template in templates]
    for template in templates:
        text = template.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*(safe|forceescape|tojson|xmlattr|urlize)\b|autoescape|Markup", text), template.name
        # A value outside of quotes could add attributes.
        assert not re.search(r"<[^<>{}]*=\{\{", text), template.name


def test_a_deadline_that_is_no_time_is_shown_as_it_came():
    words = "<i>soon, said somebody</i>"
    fleet = {"a": host(event("E", "a", due=words)), "b": host(event("F", "b", due=None))}
    outline = Outline(render_page(make_report(fleet, fleet, None, NOW), "r.json"))
    assert "data-due" not in outline.attributes
    assert words[11:19] in outline.words
    assert "at any time" in outline.words


@settings(max_examples=40, deadline=None)
@given(st.text(min_size=1, max_size=30))
def test_no_word_changes_the_page(word):
    page = render_page(hostile_report(f"a{word}"), "r.json")
    assert Outline(page).elements == Outline(render_page(hostile_report("a"), "r.json")).elements
    json.dumps(hostile_report(word))


def test_a_page_needs_nothing_else():
    page = render_page(make_report(["a"], {"a": host(event("E", "a"))}, a_run(), NOW), "r.json")
    outline = Outline(page)
    assert not {"link", "img", "iframe", "object", "embed"} & set(outline.elements)
    assert "src" not in outline.attributes
    assert "url(" not in page
    assert "@import" not in page
    assert "default-src 'none'" in page.replace("&#39;", "'")


def test_times_of_a_run_that_awx_hands_on_are_text_again():
    """ansible-core 2.19 reads `!unsafe '2026-11-16T05:40:53Z'` as a time."""
    moment = datetime.datetime(2026, 11, 16, 5, 40, 53, tzinfo=datetime.timezone.utc)
    assert plain({"hosts": {"a": {"drained_at": moment}}}) == {"hosts": {"a": {"drained_at": "2026-11-16T05:40:53Z"}}}


def test_the_record_is_shown_newest_first_and_who_has_none_is_named():
    lines = [
        {"at": "2026-11-15T23:00:00Z", "what": "drain begins", "by": "run r1", "who": "eve", "where": "ctl"}
        | {"events": ["A1"]},
        {"at": "2026-11-15T23:01:00Z", "what": "approved", "by": "watcher of web-0", "event": "A1"},
        {"at": 7, "what": "no line"},
    ]
    text = "cut off\n" + "\n".join(json.dumps(line) for line in lines)
    record = record_of({"web-0": text, "web-1": None, "web-10": "", "web-2": None})
    assert record["without"] == ["web-1", "web-2"]
    assert [(line["what"], line["who"], line["events"]) for line in record["lines"]] == [
        ("approved", "", ["A1"]),
        ("drain begins", "eve@ctl", ["A1"]),
    ]
    report = make_report(["web-0"], {"web-0": host()}, None, NOW, record=record)
    assert "No audit file is kept on web-1, web-2." in " ".join(report["lines"])
    shown = render_page(report, "x.json")
    assert "run r1 (eve@ctl)" in shown
    assert "No audit file is kept on web-1" in shown
    assert "Record</h2>" not in render_page(make_report(["web-0"], {"web-0": host()}, None, NOW), "x.json")


def test_of_an_approval_the_record_says_by_which_document_it_was_sent_and_confirmed():
    lines = [
        {"at": "2026-11-15T23:00:00Z", "what": "approval begins", "events": ["A1"], "incarnation": 7},
        {"at": "2026-11-15T23:01:00Z", "what": "approval confirmed", "event": "A1", "incarnation": 8}
        | {"shown": "Started", "seen_at": "2026-11-15T23:00:09Z"},
    ]
    record = record_of({"web-0": "\n".join(map(json.dumps, lines))})
    assert [(line["what"], line["events"], line["more"]) for line in record["lines"]] == [
        ("approval confirmed", ["A1"], "Started at 2026-11-15T23:00:09Z: document 8"),
        ("approval begins", ["A1"], "document 7"),
    ]


def test_a_record_is_text_whatever_a_host_has_written():
    lines = [
        {"at": HOSTILE, "what": HOSTILE, "by": [HOSTILE], "events": {"a": HOSTILE}, "step": HOSTILE}
        | {"shown": HOSTILE, "seen_at": [HOSTILE], "incarnation": HOSTILE}
    ] * 3
    lines += [{"at": str(number), "what": "x" * 10_000} for number in range(MOST_LINES)]
    record = record_of({"web-0": "\n".join([*map(json.dumps, lines), "[" * 100_000])})
    assert len(record["lines"]) == MOST_LINES
    shown = render_page(make_report(["web-0"], {"web-0": host()}, None, NOW, record=record), "x.json")
    assert "<script>alert" not in shown
    assert "x" * 1000 not in shown
