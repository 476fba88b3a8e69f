# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line of figures that each scenario leaves, as a table at the end of the run and as a JSON file."""

from __future__ import annotations

import json

from lab.names import WORK

FILE = WORK / "figures.json"


class Figures:
    def __init__(self) -> None:
        self._lines: dict[str, str] = {}

    def add(self, scenario: str, line: str) -> None:
        self._lines[scenario] = line
        FILE.write_text(json.dumps(self._lines, indent=2))

    def table(self) -> list[str]:
        width = max(map(len, self._lines), default=0)
        return [f"{scenario:{width}}  {line}" for scenario, line in self._lines.items()]
