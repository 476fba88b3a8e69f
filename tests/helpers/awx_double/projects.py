# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How AWX fetches a project: in its own time, not always with success. Before that it knows none of its playbooks."""

from __future__ import annotations

from typing import Any

RUNNING = ("new", "pending", "waiting", "running")


class Syncs:
    def __init__(self, store: Any) -> None:
        self._store = store
        self._updates: dict[int, dict[str, Any]] = {}
        # What becomes of the next ones: "successful", "failed", or "pending" for one that never ends.
        self.outcomes: list[str] = []
        # The head of the branch, which somebody may push to.
        self.revision = "1111111"
        self.looks = 0

    def start(self, project: dict[str, Any]) -> dict[str, Any]:
        outcome = self.outcomes.pop(0) if self.outcomes else "successful"
        if (self._store.project_folder / "collections" / "requirements.yml").exists():
            # There is no Galaxy where the double is.
            outcome = "failed"
        number = self._store.new_id()
        update = {"id": number, "project": project["id"], "outcome": outcome, "looks": 0, "status": "pending"}
        self._updates[number] = {**update, "url": f"/api/v2/project_updates/{number}/"}
        project["summary_fields"]["current_update"] = {"id": number}
        return self.shown(number)

    def look(self, number: int) -> dict[str, Any]:
        """Somebody asks how it goes. The second time it is done."""
        self.looks += 1
        update = self._updates[number]
        update["looks"] += 1
        if update["looks"] >= 2 and update["status"] in RUNNING:
            self._end(update)
        return self.shown(number)

    def let_all_end(self) -> None:
        """As time goes by they do, whether anybody asks or not."""
        for update in self._updates.values():
            if update["status"] in RUNNING:
                self._end(update)

    def _end(self, update: dict[str, Any]) -> None:
        project = self._store.kinds["projects"][update["project"]]
        if update["outcome"] == "pending":
            return
        update["status"] = project["status"] = update["outcome"]
        project["summary_fields"].pop("current_update", None)
        if update["outcome"] == "successful":
            project["scm_revision"] = self.revision

    def shown(self, number: int) -> dict[str, Any]:
        update = self._updates[number]
        project = self._store.kinds["projects"][update["project"]]
        over = update["status"] not in RUNNING
        return {
            **{name: update[name] for name in ("id", "url", "status")},
            "failed": update["status"] == "failed",
            "finished": "2026-11-16T00:00:00Z" if over else None,
            "event_processing_finished": over,
            "scm_revision": project["scm_revision"],
        }
