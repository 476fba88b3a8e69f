# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run has seen become of approvals, for the record of the host that it returns to service. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import effects_of_marks
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id


def effects_seen(approved: t.Any, status: t.Any) -> dict[str, dict[str, t.Any]]:
    """Event -> the reading that showed it as Started, or no more: the wait's, if this run has waited for it.

    `approved` is what the role approve came to; `status` the last reading, with the journal that an earlier run has
    left and the events of the whole document.
    """
    waited = approved.get("effects") if isinstance(approved, Mapping) else None
    return {**_by_reading(status), **(waited if isinstance(waited, Mapping) else {})}


def _by_reading(status: t.Any) -> dict[str, dict[str, t.Any]]:
    journal = status.get("journal") if isinstance(status, Mapping) else None
    if not isinstance(journal, Mapping) or not isinstance(status.get("events"), list):
        return {}
    statuses = {canonical_id(event["id"]): event["status"] for event in status["events"]}
    found: dict[str, dict[str, t.Any]] = effects_of_marks(
        journal, statuses, status.get("read_at"), status.get("document_incarnation")
    )
    return found
