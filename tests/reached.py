# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A property that speaks of a rare case says nothing where Hypothesis never makes one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.strategies import SearchStrategy

QUICK = settings(
    max_examples=500, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def assert_reached(examples: SearchStrategy[Any], case: Callable[[Any], bool]) -> None:
    """Among five hundred examples there is one for which the case holds; if not, `find` raises."""
    assert case(find(examples, case, settings=QUICK))
