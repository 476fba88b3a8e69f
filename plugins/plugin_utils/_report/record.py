# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts have written down about themselves: approvals, drains and returns to service, by whom. Pure."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural, printable

# Of all hosts together, the newest.
MOST_LINES = 1000
LONGEST_TEXT = 300


def record_of(texts: Mapping[str, str | None]) -> dict[str, t.Any]:
    """`texts` is the end of each host's file, None where it has none. Whoever wrote it: it is text, and no more."""
    # Of those of one second, the last first as well.
    lines = [line for host, text in texts.items() for line in reversed(_lines(host, text or ""))]
    lines.sort(key=lambda line: (line["at"], natural(line["host"])), reverse=True)
    without = sorted((host for host, text in texts.items() if text is None), key=natural)
    return {"lines": lines[:MOST_LINES], "without": without}


def _lines(host: str, text: str) -> list[dict[str, t.Any]]:
    found: list[dict[str, t.Any]] = []
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            # The first may be cut off.
            continue
        if isinstance(entry, dict) and isinstance(entry.get("at"), str) and isinstance(entry.get("what"), str):
            found.append({"host": host, **{name: _short(entry.get(name)) for name in ("at", "what", "by")}})
            found[-1].update(who=_whose(entry), events=_events(entry), more=_more(entry))
    return found


def _whose(entry: Mapping[str, t.Any]) -> str:
    told = [_short(entry[name]) for name in ("who", "where") if entry.get(name)]
    return "@".join(told)


def _events(entry: Mapping[str, t.Any]) -> list[str]:
    several = entry.get("events") if isinstance(entry.get("events"), list) else []
    return [_short(event) for event in [entry.get("event"), *(several or [])] if event]


def _more(entry: Mapping[str, t.Any]) -> str:
    told = [f"step {_short(entry['step'])} ({_short(entry.get('kind'))})"] if entry.get("step") else []
    told += [_short(entry[name]) for name in ("why", "error") if entry.get(name)]
    if entry.get("shown"):
        told.append(f"{_short(entry['shown'])} at {_short(entry.get('seen_at'))}")
    if entry.get("incarnation") is not None:
        told.append(f"document {_short(entry['incarnation'])}")
    return ": ".join(told)


def _short(value: t.Any) -> str:
    return "" if value is None else printable(value)[:LONGEST_TEXT]
