# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tasks of the role approve returned, put together."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.outcome import approval_outcome

SENT = {"approved": ["E"], "leaders": {"E": "a"}, "times": {"E": {"approved": "1"}}, "refused": [], "problems": []}
EFFECTS = {"E": {"shown": "Started", "at": "1", "incarnation": 7}}
WAITED = {"outcomes": {"E": "gone"}, "times": {"E": {"over": "2"}}, "effects": EFFECTS, "problems": []}


def test_all_is_well():
    assert approval_outcome([SENT], WAITED) == {
        "approved": ["E"],
        "refused": [],
        "leaders": {"E": "a"},
        "times": {"E": {"approved": "1", "over": "2"}},
        "effects": EFFECTS,
        "outcomes": {"E": "gone"},
        "over": True,
        "error": "",
        "unsent": [],
        "refused_by_host": None,
    }


@pytest.mark.parametrize(
    ("waited", "over"),
    [
        (None, True),
        ({"outcomes": {"E": "gone", "F": "Started"}, "problems": ["late"]}, False),
        ({"outcomes": {"E": "gone", "F": "what is new"}, "problems": []}, False),
        ({"outcomes": {}, "problems": []}, False),
        # No answer, or no contact: nobody has seen the end.
        ({"msg": "no", "failed": True}, False),
        ({"msg": "no", "unreachable": True}, False),
    ],
)
def test_over_is_what_was_seen_to_be_over(waited, over):
    assert approval_outcome([SENT], waited)["over"] is over


def test_every_trouble_is_told():
    refused = {"refused": [{"id": "F", "uncovered": ["z"]}], "problems": ["F names z."]}
    report = approval_outcome([SENT, refused, {"msg": "no contact"}, {}], {"msg": "no answer in time"})
    assert report["refused"] == [{"id": "F", "uncovered": ["z"]}]
    assert report["error"] == "F names z. no contact no answer no answer in time"


def test_what_was_not_sent_is_not_over():
    refused = {"problems": ["too old"], "refused_by_host": "age"}
    outcome = approval_outcome([refused], None, ["E"])
    assert (outcome["over"], outcome["unsent"], outcome["refused_by_host"]) == (False, ["E"], "age")
    assert outcome["error"] == "too old"
