# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the plan says, for every fleet and in single cases."""

from __future__ import annotations

import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import clock
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import make_plan
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.text import render_plan
from hypothesis import given
from hypothesis import strategies as st

POLICY = [
    {"type": "Freeze", "shorter_than": 10, "action": "approve"},
    {"type": "Redeploy", "due_after": "1d", "action": "ignore"},
    {"action": "drain"},
]
NAMES = [f"web-{number}" for number in range(8)]
NOW = 1794787200.0  # 2026-11-16T00:00:00Z


def event(event_id, *resources, kind="Reboot", due="2026-11-16T00:15:00Z", status="Scheduled", duration=None):
    return {
        "id": event_id,
        "type": kind,
        "status": status,
        "source": "Platform",
        "resources": list(resources),
        "not_before": None if status == "Started" else due,
        "duration_seconds": duration,
        "description": "Host server is undergoing maintenance.",
    }


def host(*events, domain="0"):
    return {"maintenance_status": {"this_host": {"update_domain": domain}, "events": list(events)}}


def the_plan(fleet, **options):
    return make_plan(fleet, fleet, options.pop("policy", POLICY), now=NOW, **options)


@st.composite
def fleets(draw):
    events = [
        event(
            f"E{number}",
            *draw(st.lists(st.sampled_from([*NAMES, "outsider"]), min_size=1, max_size=3, unique=True)),
            kind=draw(st.sampled_from(["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate", "Reimage"])),
            due=draw(st.sampled_from(["2026-11-16T00:15:00Z", "2026-11-20T00:00:00Z"])),
            status=draw(st.sampled_from(["Scheduled", "Scheduled", "Started"])),
            duration=draw(st.sampled_from([None, 5, 30])),
        )
        for number in range(draw(st.integers(0, 5)))
    ]
    names = draw(st.lists(st.sampled_from(NAMES), unique=True))
    fleet = {}
    for name in names:
        seen = [known for known in events if name in known["resources"] or draw(st.booleans())]
        fleet[name] = host(*seen, domain=draw(st.sampled_from([None, "0", "1"]))) if draw(st.integers(0, 5)) else {}
    return fleet


def entries(plan):
    return [entry for wave in plan["waves"] for entry in wave["events"]]


@given(fleets(), st.lists(st.sampled_from(NAMES), unique=True))
def test_every_host_is_accounted_for(fleet, drained):
    plan = the_plan(fleet, drained=drained)
    in_waves = [name for wave in plan["waves"] for name in wave["hosts"]]
    assert len(in_waves) == len(set(in_waves))
    unread = {name for name in fleet if not fleet[name]}
    assert set(plan["unknown"]) == unread
    assert sorted(host for group in plan["unread"] for host in group["hosts"]) == sorted(unread)
    assert set(in_waves) | set(plan["nothing_to_do"]) | unread == set(fleet)
    assert not set(plan["nothing_to_do"]) & (set(in_waves) | unread)
    leftovers = plan["restore_first"] + plan["already_drained"] + plan["left_drained"]
    assert sorted(leftovers) == sorted(set(drained) & set(fleet))
    # Nothing is known to be over about a host that was not read.
    assert not set(plan["restore_first"]) & (set(in_waves) | unread)


@given(fleets(), st.sampled_from(["refuse", "allow"]))
def test_nothing_is_approved_that_names_somebody_else(fleet, uncovered):
    plan = the_plan(fleet, uncovered=uncovered)
    for entry in entries(plan):
        outside = [name for name in entry["resources"] if name not in fleet]
        assert entry["uncovered"] == outside
        shown = any(name in fleet and fleet[name] for name in entry["hosts"])
        approves = entry["status"] == "Scheduled" and shown and (not outside or uncovered == "allow")
        assert ("approve" in entry["steps"]) == approves == entry["approvable"]
    refused = {refusal["id"] for refusal in plan["refused"]}
    assert not refused & {event_id for wave in plan["waves"] for event_id in wave["approve"]}


@given(fleets())
def test_no_approval_of_a_drained_event_before_its_drain_and_no_wait_for_what_is_taken_away(fleet):
    for entry in entries(the_plan(fleet)):
        steps = entry["steps"]
        assert steps == [step for step in ("drain", "approve", "wait", "restore") if step in steps]
        if entry["action"] == "drain" and "approve" in steps:
            assert steps[0] == "drain"
        assert ("wait" in steps) == (entry["type"] not in ("Preempt", "Terminate"))
        assert ("restore" in steps) == ("wait" in steps and entry["action"] == "drain")


@given(fleets())
def test_ignored_events_move_nobody(fleet):
    plan = the_plan(fleet)
    assert all(entry["action"] == "ignore" and entry["steps"] == [] for entry in plan["ignored"])
    everything_ignored = the_plan(fleet, policy=[{"action": "ignore"}])
    assert everything_ignored["waves"] == []
    assert len(everything_ignored["ignored"]) == len(entries(plan)) + len(plan["ignored"])


@given(fleets(), st.integers(40, 120))
def test_every_host_and_event_of_a_wave_is_in_the_text(fleet, width):
    plan = the_plan(fleet)
    lines = render_plan(plan, width)
    text = " ".join(line.strip() for line in lines)
    for wave in plan["waves"]:
        assert f"Wave {wave['number']} of {len(plan['waves'])}: " in text
        for word in [*wave["hosts"], *(entry["id"] for entry in wave["events"])]:
            assert word in text
    assert max((len(line) for line in lines), default=0) <= width


def test_a_share_is_one_of_all_hosts_of_the_run():
    fleet = {name: host(event(f"E-{name}", name)) for name in NAMES[:4]}
    fleet.update({name: host() for name in NAMES[4:]})
    assert [len(wave["hosts"]) for wave in the_plan(fleet, max_at_once="25%")["waves"]] == [2, 2]


def test_an_event_that_one_reading_shows_as_started_has_started():
    fleet = {"web-0": host(event("E", "web-0", "web-1")), "web-1": host(event("e", "web-0", "web-1", status="Started"))}
    (wave,) = the_plan(fleet)["waves"]
    assert (wave["underway"], wave["approve"], wave["drain"]) == (True, [], [])
    assert wave["events"][0]["steps"] == ["wait", "restore"]


def test_a_reading_without_a_list_of_events_is_no_reading():
    for status in (None, "", [], {}, {"events": None}, {"events": "none"}):
        assert the_plan({"web-0": {"maintenance_status": status}})["unknown"] == ["web-0"]


def test_many_hosts_that_could_not_be_read_take_no_time():
    # One second of this processor; where the time grows with the square of the hosts, it is six minutes.
    fleet = {f"web-{number}": host() if number % 2 else {} for number in range(100_000)}
    began = time.process_time()
    plan = the_plan(fleet)
    assert time.process_time() - began < 60
    assert len(plan["unknown"]) == len(plan["nothing_to_do"]) == 50_000


def test_a_journal_that_can_not_be_read_is_told():
    fleet = {name: host() for name in ("web-0", "web-1", "web-2")}
    for name in ("web-0", "web-2"):
        fleet[name]["maintenance_status"]["journal_problem"] = "The journal can't be read."
    plan = the_plan(fleet)
    assert plan["journal_problems"] == [{"hosts": ["web-0", "web-2"], "why": "The journal can't be read."}]
    text = " ".join(" ".join(render_plan(plan, 200)).split())
    assert "left it drained: 2 hosts: web-0, web-2. The journal can't be read." in text


def test_what_azure_sends_cannot_write_to_the_terminal():
    nasty = {**event("E", "web-0"), "description": "a\x1b[2Jb\nc"}
    assert not any("\x1b" in line or "\n" in line for line in render_plan(the_plan({"web-0": host(nasty)})))


def test_uncovered_must_be_one_of_two_words():
    with pytest.raises(ValueError, match=r"^uncovered must be refuse or allow, not 'maybe'$"):
        the_plan({}, uncovered="maybe")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00 min"), (873, "14:33 min"), (3600, "1 h 0 min"), (600000, "6 d 22 h"), (-5, "0:00 min")],
)
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_of_waves_that_are_due_at_once_the_first_in_the_document_goes_first():
    """Two runs with a part of a group each would wait for each other otherwise."""
    fleet = {"web-0": host(event("B", "web-0"), domain="0"), "web-1": host(event("a", "web-1"), domain="1")}
    assert [wave["hosts"] for wave in the_plan(fleet)["waves"]] == [["web-1"], ["web-0"]]
    assert [wave["hosts"] for wave in the_plan(fleet, drained=["web-0"])["waves"]] == [["web-0"], ["web-1"]]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_up_to_three_reasons_are_told_each(count):
    fleet = {name: {"maintenance_unread": f"reason {number}"} for number, name in enumerate(NAMES[:count])}
    assert the_plan(fleet)["unread"] == [
        {"hosts": [name], "why": f"reason {number}"} for number, name in enumerate(NAMES[:count])
    ]


@pytest.mark.parametrize("count", [4, 6])
def test_of_more_reasons_the_first_three_are_told(count):
    fleet = {name: {"maintenance_unread": f"reason {number}"} for number, name in enumerate(NAMES[:count])}
    told = the_plan(fleet)["unread"]
    assert [group["why"] for group in told] == ["reason 0", "reason 1", "reason 2", "They have reasons of their own."]
    assert told[-1]["hosts"] == NAMES[3:count]


def test_why_a_host_was_not_read_is_what_was_kept_or_the_reading_itself_says():
    failed = {"maintenance_status": {"msg": "no route"}}
    fleet = {"web-0": failed, "web-1": {"maintenance_unread": "asleep", **failed}, "web-2": {"maintenance_status": 7}}
    assert the_plan(fleet)["unread"] == [
        {"hosts": ["web-0"], "why": "no route"},
        {"hosts": ["web-1"], "why": "asleep"},
        {"hosts": ["web-2"], "why": ""},
    ]


@pytest.mark.parametrize(
    ("due", "left"),
    [
        ("2026-11-16T00:15:00Z", 900),
        ("2026-11-16T00:00:01Z", 1),
        ("2026-11-16T00:00:00Z", 0),
        ("2026-11-15T00:00:00Z", 0),
    ],
)
def test_the_seconds_that_are_left(due, left):
    (wave,) = the_plan({"web-0": host(event("E", "web-0", due=due))})["waves"]
    assert (wave["seconds_left"], wave["events"][0]["seconds_left"]) == (left, left)


@pytest.mark.parametrize(("told", "left"), [(77, 77), (77.9, 77), (None, None), ("77", None)])
def test_without_a_clock_the_seconds_are_those_of_the_reading(told, left):
    fleet = {"web-0": host({**event("E", "web-0"), "seconds_left": told})}
    (wave,) = make_plan(fleet, fleet, POLICY)["waves"]
    assert (wave["seconds_left"], wave["events"][0]["seconds_left"]) == (left, left)


def test_a_wave_has_as_long_as_its_first_event_and_no_time_once_it_is_under_way():
    later = event("L", "web-0", due="2026-11-16T00:30:00Z")
    (wave,) = the_plan({"web-0": host(later, event("E", "web-0"))})["waves"]
    assert (wave["seconds_left"], wave["underway"]) == (900, False)
    (wave,) = the_plan({"web-0": host(later, event("S", "web-0", status="Started"))})["waves"]
    assert (wave["seconds_left"], wave["underway"]) == (None, True)


def test_a_host_of_a_wave_that_could_not_be_read_is_warned_about():
    fleet = {"web-0": host(event("E", "web-0", "web-1")), "web-1": {}}
    (wave,) = [wave for wave in the_plan(fleet)["waves"] if "web-1" in wave["hosts"]]
    assert wave["warnings"][-1] == "web-1 could not be read, but another host shows an event that names it"


@pytest.mark.parametrize(
    ("kind", "status", "duration", "steps"),
    [
        ("Reboot", "Scheduled", None, ["drain", "approve", "wait", "restore"]),
        ("Reboot", "Started", None, ["wait", "restore"]),
        ("Reboot", "Suspended", None, ["drain", "approve", "wait", "restore"]),
        ("Freeze", "Scheduled", 5, ["approve", "wait"]),
        ("Freeze", "Started", 5, ["wait"]),
        ("Preempt", "Scheduled", None, ["drain", "approve"]),
        ("Terminate", "Started", None, []),
    ],
)
def test_the_steps_of_an_event(kind, status, duration, steps):
    (wave,) = the_plan({"web-0": host(event("E", "web-0", kind=kind, status=status, duration=duration))})["waves"]
    assert wave["events"][0]["steps"] == steps


@pytest.mark.parametrize(
    ("resources", "status", "refused"),
    [
        (["web-0"], "Scheduled", []),
        (["web-0"], "Started", []),
        (["web-0", "x"], "Scheduled", ["E"]),
        (["web-0", "x"], "Started", ["E"]),
    ],
)
def test_refused_is_only_what_names_a_vm_that_is_no_host_of_the_run(resources, status, refused):
    plan = the_plan({"web-0": host(event("E", *resources, status=status))})
    assert [one["id"] for one in plan["refused"]] == refused


def test_waves_are_counted_from_one():
    fleet = {name: host(event(name, name), domain=name) for name in NAMES[:3]}
    assert [(wave["number"], wave["of"]) for wave in the_plan(fleet)["waves"]] == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("resources", [["web-0"], ["web-0", "outsider"]])
def test_what_is_left_alone_is_not_approved(resources):
    far = event("D", *resources, kind="Redeploy", due="2026-11-21T00:00:00Z")
    (entry,) = the_plan({"web-0": host(far)}, uncovered="allow")["ignored"]
    assert (entry["action"], entry["approvable"], entry["steps"]) == ("ignore", False, [])


@pytest.mark.parametrize(("kind", "word"), [("Reboot", "Reboot"), (None, "Event"), ("", "Event")])
def test_hearsay_is_told_by_its_type(kind, word):
    fleet = {"web-0": host(), "web-1": host(event("E", "web-0", kind=kind))}
    (doubt,) = the_plan(fleet)["not_believed"]
    assert doubt["why"].startswith(f"{word} E names web-0, but is shown only by hosts that it does not name.")
    assert (doubt["hosts"], doubt["wrong"]) == (["web-0"], False)
