# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that are out of service for no event, and when the rules are told to return them. Pure: the clock is given."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import HeardHost, Now

# One that went down with its event is not missed for so long: it may be rebooting.
LONGEST_REBOOT = 900.0
# Nobody tells of a silent host that it was returned. So it is told ever more seldom, and at least so often.
LONGEST_PAUSE = 3600.0


class LeftDrained:
    def __init__(self, remind: float, counts_for: float) -> None:
        self.remind = remind
        # A host that says for a moment that it is not drained begins no new wait.
        self.counts_for = counts_for

    def due(
        self,
        hosts: Iterable[HeardHost],
        is_reason: Callable[[str], bool],
        is_waited_for: Callable[[list[HeardHost], float], bool],
        now: Now,
    ) -> dict[str, list[HeardHost]]:
        """By group. `is_reason`: whether an event is known to be still there; `is_waited_for`: whether a run that began
        after a moment is at work on one of the hosts."""
        groups: dict[str, list[HeardHost]] = {}
        for host in hosts:
            if host.drained and not _has_reason(host, is_reason, now):
                self._note(host, now)
                groups.setdefault(host.group, []).append(host)
        return {group: those for group, those in groups.items() if self._is_their_turn(those, is_waited_for, now)}

    def _note(self, host: HeardHost, now: Now) -> None:
        # Who drained it may be about to return it: the first time, too, is after so long.
        if host.drained_since is None or now.steady - host.drained_seen >= self.counts_for:
            host.drained_since, host.drained_pause = now.steady, self.remind
        host.drained_seen = now.steady
        if not host.is_silent:
            host.drained_pause = self.remind

    def _is_their_turn(
        self, those: list[HeardHost], is_waited_for: Callable[[list[HeardHost], float], bool], now: Now
    ) -> bool:
        late = [host for host in those if now.steady - (host.drained_since or 0.0) >= host.drained_pause]
        if not late or is_waited_for(late, min(host.drained_since or 0.0 for host in late)):
            return False
        for host in those:
            pause = min(2 * host.drained_pause, max(self.remind, LONGEST_PAUSE)) if host.is_silent else self.remind
            host.drained_since, host.drained_pause = now.steady, pause
        return True


def _has_reason(host: HeardHost, is_reason: Callable[[str], bool], now: Now) -> bool:
    naming = [event_id for event_id, is_named in host.events.items() if is_named]
    if not naming or not host.is_silent or now.steady - host.heard_at < LONGEST_REBOOT:
        return bool(naming)
    return any(is_reason(event_id) for event_id in naming)
