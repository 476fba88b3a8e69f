# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often scenarios repeat themselves, and the line of figures that each leaves: a table at the end, and JSON."""

from __future__ import annotations

import json
import os

from lab.names import WORK

FILE = WORK / "figures.json"
# As often as they should, a share of it where time is short, or more.
SHARE = float(os.environ.get("LAB_SHARE", "1"))


def times(usually: int) -> int:
    return max(2, round(usually * SHARE))


class Figures:
    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def add(self, scenario: str, line: str) -> None:
        self._lines[scenario] = line
        FILE.write_text(json.dumps(self._lines, indent=2))

    def table(self) -> list[str]:
        width = max(map(len, self._lines), default=0)
        return [f"{scenario:{width}}  {line}" for scenario, line in self._lines.items()]
