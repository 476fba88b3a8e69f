# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan holds: its waves, their events, and what is left alone. The filter `plan` returns it as it is."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.doubts import Doubt


class PlanEntry(t.TypedDict):
    """One event, put together from all readings that show it, and what is done about it."""

    id: str
    type: str
    source: str | None
    description: str
    not_before: str | None
    duration_seconds: int | None
    status: str
    seconds_left: int | None
    # The hosts of the run that it names, and the VMs that it names, as Azure writes them.
    hosts: list[str]
    resources: list[str]
    # VMs that the event names and that are no hosts of this run: approving would start it for them too.
    uncovered: list[str]
    # Hosts of the inventory that are these VMs, and that this run leaves out.
    not_in_run: list[str]
    # The hosts that show it themselves, and those that were read and do not.
    shown_by: list[str]
    not_shown_by: list[str]
    # VMs of the latter, among those that are uncovered.
    not_believed_of: list[str]
    # What the policy decides, by which of its rules.
    action: str
    rule: int | None
    why: str
    vanishing: bool
    approvable: bool
    steps: list[str]


class PlanWave(t.TypedDict):
    """Hosts that go down together."""

    number: int
    of: int
    hosts: list[str]
    domains: list[str]
    deadline: str | None
    underway: bool
    seconds_left: int | None
    events: list[PlanEntry]
    drain: list[str]
    approve: list[str]
    warnings: list[str]


class PlanRefusal(t.TypedDict):
    """An event that can't be approved, as it would start for others too."""

    id: str
    uncovered: list[str]
    not_in_run: list[str]
    shown_by: list[str]
    not_shown_by: list[str]


class SameReason(t.TypedDict):
    """Hosts that said the same."""

    hosts: list[str]
    why: str


class _WithoutWords(t.TypedDict):
    waves: list[PlanWave]
    ignored: list[PlanEntry]
    refused: list[PlanRefusal]
    # The hosts that were not read, and why.
    unknown: list[str]
    unread: list[SameReason]
    not_believed: list[Doubt]
    refused_hosts: list[str]
    journal_problems: list[SameReason]
    nothing_to_do: list[str]
    # Left drained by an earlier run: those whose event is over, those that have one, those of which it can't be said.
    restore_first: list[str]
    already_drained: list[str]
    left_drained: list[str]


class Plan(_WithoutWords, total=False):
    # In words.
    lines: list[str]
