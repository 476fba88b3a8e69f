# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who has a lease, and what the lock hosts remember: part of the area `state`. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import READ, letters, verdict

LeaseAnswer: t.TypeAlias = Mapping[str, t.Any]


def about_leases(results: Sequence[LeaseAnswer]) -> list[Finding]:
    """`results`: of the module lease with `do: read` in a loop over {group, keeper}."""
    by_group: dict[str, dict[str, LeaseAnswer]] = {}
    for result in results:
        call = result["__check_call"]
        by_group.setdefault(str(call["group"]), {})[str(call["keeper"])] = result
    return [_about_group(group, answers) for group, answers in by_group.items()]


def _about_group(group: str, answers: Mapping[str, LeaseAnswer]) -> Finding:
    point = f"lease of {group}" if group else "lease"
    keepers = in_words(list(answers))
    found = verdict(group, list(answers), answers, READ)
    needed = len(answers) // 2 + 1
    if len(answers) - len(found.lost_keepers) < needed:
        lost = [f"{keeper} ({letters(answers[keeper].get('msg') or 'no answer')})" for keeper in found.lost_keepers]
        do = "Nothing begins in this group until more than half answer: look at them, or set maintenance_lock_hosts"
        return bad("state", point, f"of its lock hosts {keepers} these do not answer: {some_of(lost, 3)}", do)
    if found.holder:
        do = "A run is at work: wait until it has ended. A lease that is not renewed lapses by itself"
        return doubtful("state", point, f"held by {found.holder}", do)
    notes = sorted({letters(note.get("host")) for note in found.notes})
    if notes:
        do = "The next run of this group reads these hosts, and removes the notes of those that are in service"
        return doubtful("state", point, f"free, with notes that {some_of(notes)} may be drained", do)
    if found.lost_keepers:
        do = "One more and nothing begins in this group: look at it, or set maintenance_lock_hosts"
        missing = in_words(list(found.lost_keepers))
        return doubtful("state", point, f"free, but of its lock hosts {keepers} one does not answer: {missing}", do)
    return good("state", point, f"free, kept on {keepers}")
