# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of one host, from all that was heard. Pure."""

from __future__ import annotations

import dataclasses
import typing as t


class Now(t.NamedTuple):
    """`steady` only ever goes on; `wall` is the time of day, which may be put right."""

    wall: float
    steady: float


# Addresses of one host by which the order of its notices is known.
MOST_ADDRESSES = 4


@dataclasses.dataclass
class HeardHost:
    """One that was heard of."""

    name: str
    group: str
    heard_at: float
    vm_name: str
    # What the rules call it, where that is not its name: an endpoint has an address.
    called: str = ""
    # `sent_at` and `sequence` of the newest notice, and of the newest from each address.
    newest: tuple[float, int] = (0.0, 0)
    newest_from: dict[str, tuple[float, int]] = dataclasses.field(default_factory=dict)
    # By so much its clock is behind ours, as far as its newest notice tells.
    behind: float = 0.0
    read_at: float | None = None
    # What its last good reading holds: id -> whether the event names it.
    events: dict[str, bool] = dataclasses.field(default_factory=dict)
    drained: bool = False
    # Since when it is drained for no event, or when that was last told; and when the rules are told of it next.
    drained_since: float | None = None
    drained_seen: float = 0.0
    drained_pause: float = 0.0
    run_until: float = 0.0
    is_silent: bool = False
    # The newest notice outside of the window that was told.
    odd_clock: tuple[float, int] | None = None

    @property
    def shown(self) -> str:
        return self.called or self.name

    def is_newer(self, sent: tuple[float, int], address: str) -> bool:
        """Whether nothing as new was heard, from the same address if there is some: who has the secret of the fleet
        can sign for another host, but not send from there, and so not make it look late."""
        return sent > self.newest_from.get(address, self.newest)

    def note(self, sent: tuple[float, int], address: str) -> None:
        self.newest = max(self.newest, sent)
        self.newest_from.pop(address, None)
        self.newest_from[address] = sent
        while len(self.newest_from) > MOST_ADDRESSES:
            del self.newest_from[next(iter(self.newest_from))]
