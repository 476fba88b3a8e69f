# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often scenarios repeat themselves: as often as they should, a share of it where time is short, or more."""

from __future__ import annotations

import os

SHARE = float(os.environ.get("LAB_SHARE", "1"))


def times(usually: int) -> int:
    return max(2, round(usually * SHARE))
