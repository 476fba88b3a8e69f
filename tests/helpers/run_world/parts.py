# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the protocol that can be left out, to see that what they prevent comes back."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Parts:
    """Numbers as in the model of a run."""

    host_is_the_fence: bool = True  # (1)
    only_running_leases_are_renewed: bool = True  # (2)
    notes: bool = True  # (3)
    actions_in_two_commands: bool = True  # (4)
    return_is_written_first: bool = True  # (5)
    one_approval_at_a_time: bool = True  # (6)
    new_event_is_written_first: bool = True  # (7)
    sent_again: bool = True  # (8)
    marks_are_taken_over: bool = True  # (9)
    worked_on_together: bool = True  # (10)
    only_new_marks_are_taken_back: bool = True  # found here: an earlier sending may have arrived
    renewed_only_while_connected: bool = True  # history 11
    young_notes_count: bool = True  # history 14
    notes_make_a_quick_run_read_again: bool = True  # history 13
    noted_hosts_are_read: bool = True  # L1
    one_note_is_enough: bool = True  # L2
    a_mark_counts_by_the_own_account: bool = True  # L3
    sent_events_need_the_lease: bool = True  # L4
    a_refusal_outweighs: bool = True  # L5
    new_lock_hosts_grant_nothing: bool = True


ALL = Parts()


def without(*parts: str) -> Parts:
    return dataclasses.replace(ALL, **dict.fromkeys(parts, False))
