# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the last run of a report as an SVG that looks right on light and dark pages. Run by `make picture`.

python demo/picture.py .build/demo/maintenance-report.json docs/images/run.svg
"""

from __future__ import annotations

import collections
import datetime
import html
import json
import sys
from pathlib import Path
from typing import Any

WIDTH, LEFT, RIGHT, TOP = 880, 236, 32, 112
LANE, GAP, BAR = 22, 20, 10
STEPS = (5, 10, 15, 30, 60, 120, 300, 600)

STYLE = """
svg { font: 13px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
.card { fill: #ffffff; stroke: #e2e6eb; } .ink { fill: #17202b; } .quiet { fill: #5c6776; } .line { stroke: #e2e6eb; }
.out { fill: #efbf4d; } .event { fill: #c2571a; } .back { fill: #2b7d57; }
.title { font-size: 17px; font-weight: 650; } .bold { font-weight: 600; } .small { font-size: 12px; }
@media (prefers-color-scheme: dark) {
  .card { fill: #171c24; stroke: #29313c; } .ink { fill: #e7ebf1; } .quiet { fill: #9aa6b6; } .line { stroke: #29313c; }
  .out { fill: #8f7231; } .event { fill: #ff9d5c; } .back { fill: #62c193; }
}
"""
NOTICE = "".join(line[2:] + "\n" for line in Path(__file__).read_text(encoding="utf-8").splitlines()[:3])
FRAME = """<!--
{notice}-->
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">
<title>The time line of a run over {count} VMs</title>
<style>{style}</style>
<rect x=".5" y=".5" width="{inner}" height="{tall}" rx="12" class="card"/>
{parts}
</svg>
"""


def seconds(at: str) -> float:
    return datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp()


class Drawing:
    def __init__(self, report: dict[str, Any]) -> None:
        self.run = report["last_run"]
        self.begin = seconds(self.run["started_at"])
        self.length = seconds(self.run["ended_at"]) - self.begin
        self.event_of = {host: event for event in self.run["events"].values() for host in event["hosts"]}
        self.waves: dict[tuple[int, str], list[str]] = collections.defaultdict(list)
        for host in report["hosts"]:
            if host["last_run"]:
                self.waves[host["last_run"]["wave"], host["domain"]].append(host["name"])
        self.parts: list[str] = []

    def x(self, at: str) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (seconds(at) - self.begin) / self.length, 1)

    def text(self, x: float, y: float, words: str, style: str, anchor: str = "start") -> None:
        self.parts.append(f'<text x="{x}" y="{y}" class="{style}" text-anchor="{anchor}">{html.escape(words)}</text>')

    def strip(self, begin: str, end: str, y: float, height: float, style: str) -> None:
        left = self.x(begin)
        width = max(3.0, round(self.x(end) - left, 1))
        self.parts.append(
            f'<rect x="{left}" y="{y}" width="{width}" height="{height}" rx="{height / 2}" class="{style}"/>'
        )

    def draw(self) -> str:
        lanes = sum(len(hosts) for hosts in self.waves.values())
        bottom = TOP + lanes * LANE + len(self.waves) * GAP
        height = bottom + 44
        count, events = len(self.run["hosts"]), len(self.run["events"])
        self.text(28, 38, f"A run: {count} VMs, {events} events, one update domain after the other", "ink title")
        self.text(28, 58, "From a run of the demo, where ten minutes of Azure take five seconds", "quiet small")
        self.axis(bottom)
        y = TOP
        for (wave, domain), hosts in sorted(self.waves.items()):
            self.text(28, y + 13, domain[:1].upper() + domain[1:], "ink bold")
            self.text(28, y + 31, f"wave {wave}", "quiet small")
            for host in hosts:
                self.lane(host, y)
                y += LANE
            y += GAP
            self.parts.append(f'<path d="M28 {y - GAP / 2 - 4}H{WIDTH - RIGHT}" class="line"/>')
        self.legend(bottom + 18)
        return FRAME.format(
            notice=NOTICE,
            width=WIDTH,
            height=height,
            count=count,
            style=STYLE,
            inner=WIDTH - 1,
            tall=height - 1,
            parts="\n".join(self.parts),
        )

    def axis(self, bottom: float) -> None:
        step = next(step for step in STEPS if self.length / step <= 8)
        for mark in range(0, int(self.length) + 1, step):
            x = round(LEFT + (WIDTH - LEFT - RIGHT) * mark / self.length, 1)
            self.parts.append(f'<path d="M{x} 92V{bottom - 14}" class="line"/>')
            self.text(x, 86, f"{mark} s", "quiet small", "middle")

    def lane(self, host: str, y: float) -> None:
        outcome, event = self.run["hosts"][host], self.event_of[host]
        self.text(LEFT - 14, y + 13, host, "quiet", "end")
        if outcome.get("drained_at") and outcome.get("restored_at"):
            self.strip(outcome["drained_at"], outcome["restored_at"], y + 4, BAR, "out")
            at = self.x(outcome["restored_at"])
            self.parts.append(f'<circle cx="{at}" cy="{y + 4 + BAR / 2}" r="5" class="back"/>')
        if event["approved_at"] and event["over_at"]:
            self.strip(event["approved_at"], event["over_at"], y + 2, BAR + 4, "event")

    def legend(self, y: float) -> None:
        x = LEFT
        for style, words in (("out", "drained"), ("event", "approved: Azure at work"), ("back", "returned to service")):
            self.parts.append(f'<rect x="{x}" y="{y - 8}" width="18" height="8" rx="4" class="{style}"/>')
            self.text(x + 26, y, words, "quiet small")
            x += 26 + 7 * len(words) + 24


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(Drawing(json.loads(source.read_text())).draw())
