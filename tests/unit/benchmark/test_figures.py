# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the bench calls a miss."""

from __future__ import annotations

import pytest
from benchmark.figures import Figure, ratios, table


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([0.1, 0.2, 0.9], "holds"),
        ([0.5], "holds"),
        # The best repeat meets it, so this machine can't tell.
        ([0.4, 0.6, 0.7], "within spread"),
        ([0.51, 0.6, 0.7], "MISSED"),
        ([0.51], "MISSED"),
    ],
)
def test_verdict(values, verdict):
    assert Figure("a", "b", 0.5, values).verdict == verdict


def test_a_ratio_is_that_of_the_two_of_a_pair():
    assert ratios([1.0, 4.0], [2.0, 4.0]) == [0.5, 1.0]
    with pytest.raises(ValueError, match="zip"):
        ratios([1.0], [])


def test_the_table_is_markdown():
    lines = table([Figure("a", "b", 1.0, [0.25, 2.0, 0.5], " s")]).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == [
        "a",
        "b",
        "at most 1 s",
        "0.5 s",
        "0.25 to 2",
        "3",
        "holds",
    ]
    assert len({line.count("|") for line in lines}) == 1
