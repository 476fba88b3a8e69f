# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who does something to a host: for the record that it keeps, and for its watcher."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._host.audit import DEFAULT_FILE
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import STATUS_FILE, path_beside
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import (
    OwnVariables,
    controller_name,
    user_name,
)


def whose_deed(own: OwnVariables, run_id: str) -> dict[str, t.Any]:
    """Which run, whose, and from where. In AWX it is the one who has launched the job."""
    return {
        "file": str(own.setting("watch_audit_file") or DEFAULT_FILE),
        "run_id": run_id,
        "who": str(own.setting("awx_user_name") or user_name()),
        "where": controller_name(),
        "host": own.host,
        "incarnation": _document_read_last(own),
    }


def _document_read_last(own: OwnVariables) -> int | str | None:
    status = own.registered("maintenance_status")
    incarnation = status.get("document_incarnation") if isinstance(status, Mapping) else None
    if isinstance(incarnation, str):
        # A plain one.
        return str.__str__(incarnation)
    return int(incarnation) if isinstance(incarnation, int) else None


def path_of_mark(own: OwnVariables) -> str:
    """Where a run says on the host that it is there, if there is a watcher."""
    return str(path_beside(str(own.setting("watch_status_file") or STATUS_FILE)))
