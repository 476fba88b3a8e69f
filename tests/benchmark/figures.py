# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured, next to what it has to meet."""

from __future__ import annotations

import dataclasses
import statistics
from typing import Any


@dataclasses.dataclass
class Figure:
    """One line of the table: a value for each repeat, and the most that it may be."""

    what: str
    against: str
    goal: float
    values: list[float]
    unit: str = ""
    # What the values were made from, and what else is worth knowing.
    parts: dict[str, Any] = dataclasses.field(default_factory=dict)
    # The same work in a slower form may be right, a value that nothing varies has no spread to be lenient about.
    note: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def verdict(self) -> str:
        if self.median <= self.goal:
            return "holds"
        # Missed by less than the way from the median to the best repeat: this machine can't tell.
        return "within spread" if min(self.values) <= self.goal else "MISSED"

    def row(self) -> list[str]:
        spread = f"{number(min(self.values))} to {number(max(self.values))}"
        return [
            self.what,
            self.against,
            f"at most {number(self.goal)}{self.unit}",
            f"{number(self.median)}{self.unit}",
            spread,
            str(len(self.values)),
            self.verdict,
        ]

    def data(self) -> dict[str, Any]:
        return {**dataclasses.asdict(self), "median": self.median, "verdict": self.verdict}


HEAD = ["what", "against", "goal", "median", "range", "repeats", "verdict"]


def number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def table(figures: list[Figure]) -> str:
    """As Markdown, so that it can stand on a page as it is."""
    rows = [HEAD, *(figure.row() for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    """Repeat by repeat: the two of a pair ran right after each other."""
    return [own / other for own, other in zip(ours, theirs, strict=True)]


def in_words(values: list[float], unit: str = " s") -> str:
    spread = f"{number(min(values))} to {number(max(values))}"
    return f"{number(statistics.median(values))}{unit} ({spread})"
