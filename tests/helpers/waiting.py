# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a state, for as long as the busiest machine may need: whoever sees it late is late, not wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 300


def wait_until(condition: Callable[[], Any], what: Callable[[], str] = str, seconds: float = PATIENCE) -> None:
    """Until it holds. `what` says what there was instead."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, f"not within {seconds:.0f} s. {what()}"
        time.sleep(0.05)
