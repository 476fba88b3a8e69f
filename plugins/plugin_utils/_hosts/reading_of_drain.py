# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading that a drain has brought along: right after its steps, in the same command."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.documents import Documents
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.status_told import (
    endpoint_of,
    status_told_in_a_roll,
)


def reading_of_drain(
    look: dict[str, t.Any] | None, asked: t.Mapping[str, t.Any], this_host: dict[str, t.Any] | None, kept_in: str
) -> dict[str, t.Any] | None:
    """As _host_state would have it; None where the host is to be asked by itself."""
    if not look or not this_host or not this_host.get("vm_name"):
        return None
    answers = {**look["answers"], "heard_at": time.time()}
    try:
        answers["endpoint"] = endpoint_of(answers["endpoint"], asked["endpoints"][0])
        status = status_told_in_a_roll(answers, this_host, None, Documents(kept_in))
    except AnsibleActionFail:
        return None
    return {
        **status,
        "api_version": asked["api_version"],
        "journal": look["journal"],
        "journal_problem": "",
        "host_clock": look["clock"],
        "run_mark": look["run_mark"],
    }
