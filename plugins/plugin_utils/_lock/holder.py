# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has a lease, in words: as a managed host tells it, so with suspicion. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import printable

LONGEST_TEXT = 200


def owner_in_words(owner: Mapping[str, t.Any]) -> str:
    """Such as "run nightly-7 of deploy@ctl1 (job 4711), since 2026-11-16T00:20:32Z, for 83 seconds more"."""
    told = {name: letters(owner.get(name, "?")) for name in ("run_id", "user", "host", "note", "taken_at")}
    note = f" ({told['note']})" if told["note"] else ""
    left = owner.get("seconds_left")
    more = f", for {letters(left)} seconds more" if left is not None else ""
    return f"run {told['run_id']} of {told['user']}@{told['host']}{note}, since {told['taken_at']}{more}"


def letters(text: t.Any) -> str:
    """What a managed host says, for a sentence."""
    return printable(text)[:LONGEST_TEXT]
