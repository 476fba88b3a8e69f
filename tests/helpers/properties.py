# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Assert that Hypothesis generates the rare case that a property is about."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.strategies import SearchStrategy

QUICK = settings(
    max_examples=500, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)


def assert_generated(examples: SearchStrategy[Any], case: Callable[[Any], bool]) -> None:
    """Raise unless one of five hundred examples, the same each time, is such a case."""
    assert case(find(examples, case, settings=QUICK, random=Random(0)))
