# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the report's table: one for each host and event. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import some_of


class Row(t.NamedTuple):
    state: str
    name: str
    domain: str
    event: Mapping[str, t.Any] | None
    azure_says: str
    last_run: str
    read_at: str


def table_rows(report: Mapping[str, t.Any]) -> list[Row]:
    events = {event["id"]: event for event in report["events"]}
    return [_row(host, events.get(event_id)) for host in report["hosts"] for event_id in host["events"] or [None]]


def _row(host: Mapping[str, t.Any], event: Mapping[str, t.Any] | None) -> Row:
    same_name = host["vm_name"].casefold() == host["name"].casefold()
    return Row(
        state=host["state"] if event is None else "started" if event["status"] == "Started" else "pending",
        name=host["name"] if same_name else f"{host['name']} ({host['vm_name']})",
        domain=host["domain"],
        event=event,
        azure_says=host["unread"] if event is None else _azure_says(event, host["unread"]),
        last_run=str((host["last_run"] or {}).get("state", "")).replace("_", " "),
        read_at=host["read_at"] or "",
    )


def _azure_says(event: Mapping[str, t.Any], unread: str) -> str:
    words = event["description"] or ""
    if event["uncovered"]:
        words = f"{words} Also names {some_of(event['uncovered'])}, none of these hosts.".strip()
    return f"{words} (The host itself is unread.)" if unread else words
