# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host may say: whatever it says, only the keys that are asked for come through, with their types."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import (
    checked,
    keyed,
    list_of,
    number,
    text,
)
from helpers.leases import mark, note
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# On a busy machine the first values take their time.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SERVICE = {"status": 200, "body": "{}", "headers": {"a": "b"}, "at": 7e12}
EVENT = {"id": "A1", "type": "Reboot", "resources": ["web"], "not_before": None, "duration_seconds": -1}
STEP = {"number": 1, "kind": "log", "arguments": {"message": "x"}, "before": {}, "status": "done", "event": "A1"}
JOURNAL = {"version": 1, "state": "drained", "events": [EVENT], "steps": [STEP], "run_id": "r", "boot_id": None}
OWNER = {
    **dict.fromkeys(("run_id", "controller", "host", "process_start", "user", "note", "taken_at"), "x"),
    "pid": 1,
}
ONE = {"changed": True, "done": ["x"], "remarks": [], "state": "drained", "boot_id": "b", "now": "n", "drained_at": "t"}
GOOD = {
    "EXCHANGE": {"changed": False, "answers": {"endpoint": "http://x", "events": SERVICE, "instance": None}},
    "JOURNAL": {"changed": False, "journal": JOURNAL, "boot_id": "b", "now": "n"},
    "STEP": {"changed": True, "results": [ONE, {"changed": False, "failed": True, "msg": "m"}], "journal": JOURNAL},
    "LEASE": {
        "held": True,
        "changed": True,
        "renewed": False,
        "holder": OWNER,
        "took_over_from": None,
        "notes": [note("web-0"), note("web-0", mark=mark())],
    },
}
FORBIDDEN = ("add_host", "add_group", "ansible_facts", "ansible_stats", "_ansible_no_log", "invocation", "exception")
SIGNS = [
    ("\x1b[2J", "\\x1b[2J"),
    ("\r\n", "\\r\\n"),
    ("\x9b31m", "\\x9b31m"),
    ("\u202e", "\\u202e"),
    ("\u2066", "\\u2066"),
    ("\u2028", "\\u2028"),
    ("\ud800", "\\ud800"),
    ("\u00e9\U0001f600\u00a0\\x1b", "\u00e9\U0001f600\u00a0\\x1b"),
]
KEYS = st.sampled_from(
    [*FORBIDDEN, "failed", "msg", "answers", "journal", "results", "held", "steps", "state", "events", "notes", "mark"]
)
WORDS = st.text("ab{[#\u00e4\0", max_size=5)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | WORDS, inner, max_size=4),
    max_leaves=12,
)


def keys_in(value):
    if isinstance(value, dict):
        return set(value).union(*(keys_in(one) for one in value.values()))
    return set().union(*(keys_in(one) for one in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("half", GOOD)
def test_a_good_answer_comes_through(half):
    answer = checked(GOOD[half], getattr(shapes, half))
    assert not answer.get("failed"), answer
    assert json.loads(json.dumps(answer)) == answer


def test_what_is_of_no_use_is_dropped():
    answer = checked(GOOD["EXCHANGE"], shapes.EXCHANGE)
    assert answer["answers"]["events"] == {"status": 200, "body": "{}"}


@pytest.mark.parametrize("half", GOOD)
@PATIENT
@given(lie=st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_whatever_is_merged_in(half, lie):
    answer = checked({**GOOD[half], **lie}, getattr(shapes, half))
    assert isinstance(answer, dict)
    assert not set(answer) & set(FORBIDDEN)
    if answer.get("failed"):
        assert isinstance(answer["msg"], str)
    else:
        assert set(answer) <= set(GOOD[half]) | {"state"}


@PATIENT
@given(ANYTHING)
def test_whatever_is_said(answer):
    for half in GOOD:
        found = checked(answer, getattr(shapes, half))
        assert isinstance(found, dict)
        assert not set(found) & set(FORBIDDEN)


@pytest.mark.parametrize("odd", [10**400, float("inf"), float("nan"), True, "1"], ids=lambda odd: str(odd)[:5])
def test_a_number_is_one_to_reckon_with(odd):
    assert "its answer.x is no number" in checked({"changed": True, "x": odd}, keyed({"x": number}))["msg"]


@pytest.mark.parametrize("half", GOOD)
@pytest.mark.parametrize(("sign", "seen"), SIGNS)
def test_a_text_for_a_person_has_nothing_that_a_terminal_obeys(half, sign, seen):
    def said(value):
        """The texts of an answer, but for what is parsed again or goes back to the host."""
        if isinstance(value, dict):
            raw = ("body", "arguments", "before", "status", "state", "kind")
            return [text for key, one in value.items() if key not in raw for text in said(one)]
        return [text for one in value for text in said(one)] if isinstance(value, list) else [value]

    def odd(value, key=""):
        if isinstance(value, dict):
            return {name: odd(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [odd(one) for one in value]
        return f"a{sign}b" if isinstance(value, str) and key not in ("body", "status", "state") else value

    answer = checked(odd(GOOD[half]), getattr(shapes, half))
    texts = [one for one in said(answer) if isinstance(one, str)]
    assert not answer.get("failed"), answer
    assert set(texts) == {f"a{seen}b"}
    assert checked({"failed": True, "msg": f"a{sign}b"}, text)["msg"] == f"a{seen}b"


def test_a_complaint_says_where():
    answer = checked({"changed": True, "x": [{"y": 3}]}, keyed({"x": list_of(keyed({"y": text}))}))
    assert "its answer.x[0].y is no text" in answer["msg"]


class Tagged(str):
    """As ansible-core 2.19 and newer tie things to a text."""


def test_a_text_is_plain():
    assert not isinstance(checked({"x": Tagged("a")}, keyed({"x": text}))["x"], Tagged)
