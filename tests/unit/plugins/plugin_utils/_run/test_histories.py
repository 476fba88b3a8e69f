# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random histories: I1, I2, I3 and I7 hold at every step, and every history ends."""

from __future__ import annotations

import os

from helpers.run_world.histories import histories, play
from hypothesis import HealthCheck, given, settings

# More of them, for a run of its own: ROLL_HISTORIES=20000.
COUNT = int(os.environ.get("ROLL_HISTORIES", "400"))


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(histories())
def test_the_invariants_hold_in_every_history_and_every_history_ends(history):
    play(history)
