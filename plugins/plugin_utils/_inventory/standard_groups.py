# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The groups that every inventory gets, whoever is in them. Pure."""

from __future__ import annotations

import re
import typing as t

STATE_GROUPS = ("pending", "started", "clear", "unknown")
TYPE_GROUPS = ("freeze", "preempt", "reboot", "redeploy", "terminate")
SOURCE_GROUPS = ("platform", "user")


class StandardGroups:
    def __init__(self, prefix: str) -> None:
        prefix = re.sub(r"[^A-Za-z0-9_]", "_", prefix)
        self.prefix = f"_{prefix}" if prefix[:1].isdigit() else prefix
        self.safe: dict[str, str] = {}
        # A group that is there and empty matches nothing; one that is not there is a warning on every run.
        self.members: dict[str, list[str]] = {}
        for name in STATE_GROUPS:
            self.members[self.prefix + name] = []
        for name in TYPE_GROUPS:
            self.members[f"{self.prefix}type_{name}"] = []
        for name in SOURCE_GROUPS:
            self.members[f"{self.prefix}source_{name}"] = []

    def add(self, name: str, host: str) -> None:
        self.members.setdefault(self.prefix + name, []).append(host)

    def add_status(self, host: str, status: dict[str, t.Any]) -> None:
        names: dict[str, None] = {}
        for event in status["events"]:
            # A state that nobody knows yet is no reason to call the host clear.
            names["started" if event["status"] == "Started" else "pending"] = None
            names[f"type_{self._safe(event['type'])}"] = None
            if event["source"]:
                names[f"source_{self._safe(event['source'])}"] = None
        if not status["events"]:
            names["clear"] = None
        domain = status["this_host"]["update_domain"] if status["this_host"] else None
        if domain:
            names[f"update_domain_{self._safe(domain)}"] = None
        for name in names:
            self.add(name, host)

    def _safe(self, word: str) -> str:
        if word not in self.safe:
            self.safe[word] = re.sub(r"[^a-z0-9]+", "_", str(word).lower()).strip("_")[:60] or "other"
        return self.safe[word]
