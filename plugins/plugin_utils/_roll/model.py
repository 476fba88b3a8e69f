# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a roll knows and decides, as plain data. Pure.

Times are seconds by the controller's clock.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import VANISHING_TYPES


@dataclasses.dataclass(frozen=True)
class Event:
    """One event of a group, merged from the accounts of its hosts alone."""

    id: str
    type: str
    status: str
    # None: it has started, or has no date. Both are now.
    not_before: float | None
    # The hosts of the inventory that it names, and the names that are no host of it.
    hosts: tuple[str, ...]
    strangers: tuple[str, ...] = ()
    # What the policy does with it: drain, approve or ignore.
    action: str = "drain"
    # The group whose hosts show it.
    group: str = ""

    @property
    def started(self) -> bool:
        return self.status == "Started"

    @property
    def vanishing(self) -> bool:
        return self.type in VANISHING_TYPES

    @property
    def takes_down(self) -> bool:
        """Only a Freeze that the policy approves without a drain takes nothing down."""
        return not (self.type == "Freeze" and self.action == "approve")

    @property
    def order(self) -> tuple[float, str]:
        """The place in the document, the same for everybody: `not_before`, then id."""
        if self.started or self.not_before is None:
            return (float("-inf"), self.id.casefold())
        return (self.not_before, self.id.casefold())


@dataclasses.dataclass(frozen=True)
class Mark:
    """The approval of this event begins, for these hosts. It stands in their journals before it is sent."""

    event: str
    hosts: tuple[str, ...]
    # Never later than now, whatever a host says.
    at: float
    takes_down: bool = True
    # The VM is not waited for: the event counts only as long as somebody shows it.
    vanishing: bool = False


@dataclasses.dataclass(frozen=True)
class Journal:
    """What a host's journal says."""

    owner: str
    # The events that it is drained for.
    events: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    # Something is drained; all of it is.
    drained: bool = False
    finished: bool = False
    # A return has begun: the host is drained again only after every step was done anew.
    returning: bool = False
    marks: tuple[Mark, ...] = ()
    # Somebody works there until then.
    worked_on_until: float = float("-inf")


@dataclasses.dataclass(frozen=True)
class Record:
    """What was done for a host on another machine; it is kept there."""

    machine: str
    host: str
    # All events that it is drained for, and their types.
    events: tuple[str, ...]
    types: tuple[str, ...]
    run: str
    before: str = ""


@dataclasses.dataclass(frozen=True)
class Note:
    """What the holder of a lease was about to do to a host; the lock hosts keep it."""

    host: str
    events: tuple[str, ...]
    type: str
    run: str
    # Where an approval is about to be sent: it.
    mark: Mark | None = None
    at: float = float("-inf")
    # The lock hosts that answered, remember back to its time, and lack it.
    lacking: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Host:
    """What is known about a host of the inventory."""

    name: str
    group: str
    domain: str
    # A good reading. Without one, `journal` is what this run has seen there before.
    read: bool = True
    # The ids of the events in its own good reading; without one, of those that it has shown before in this run.
    shows: tuple[str, ...] = ()
    # Those of them that name it by its own account -> the hosts that this account names.
    named_with: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    # By the controller's clock; None where it is not known.
    booted_at: float | None = None
    journal: Journal | None = None
    # Why it is not believed (two hosts claim one VM): it covers nothing, what is drained there is still returned.
    refused: str = ""
    # Why this run can't return it to service.
    stuck: str = ""
    healthy: bool = True
    service: str = ""


@dataclasses.dataclass(frozen=True)
class Settings:
    overlap: str = "wait"
    # A number of hosts, or a share such as "50%" of the hosts of the service.
    min_in_service: int | str | None = None
    max_at_once: int | None = None
    drain_timeout: float = 300.0
    reserve: float = 60.0
    continue_after_failure: bool = False
    uncovered: str = "refuse"
    # A marked event that is Scheduled for so long is sent again.
    resend_after: float = 60.0
    # How long a run waits at most.
    patience: float = math.inf


@dataclasses.dataclass(frozen=True)
class Roll:
    """All that a decision is made from."""

    run: str
    now: float
    # All of the inventory that may matter, whatever the pattern says.
    hosts: tuple[Host, ...]
    events: tuple[Event, ...] = ()
    records: tuple[Record, ...] = ()
    notes: tuple[Note, ...] = ()
    settings: Settings = dataclasses.field(default_factory=Settings)
    # The hosts that this run may act on: those of its batch.
    may_act_on: frozenset[str] = frozenset()
    # Each host that belongs to a service, also those that this run leaves out -> its service. None: all of `hosts`.
    services: Mapping[str, str] | None = None
    # Group -> what went wrong there in this run. A failure stops its own group, not the others.
    failures: Mapping[str, str] = dataclasses.field(default_factory=dict)


# What a run may be told to do with hosts of a group.
FINISH = "finish"  # wait for an event that is under way; return to service when it is gone
RETURN = "return"  # return to service now
ROUND = "round"  # drain, or check what is drained; then approve the one event `approve`
DRAIN = "drain"  # drain, and approve nothing
HOLD = "hold"  # not now: `why`, and `until` when it is looked at again at the latest
FORGET = "forget"  # remove a journal with nothing drained and no event that is still shown
MOVES = (FINISH, RETURN, ROUND, DRAIN, HOLD, FORGET)


@dataclasses.dataclass(frozen=True)
class Move:
    """One thing to do now, or the reason why it is not done."""

    kind: str
    group: str
    hosts: tuple[str, ...]
    # What the hosts are, or are to be, drained for. Journals and records get these before anything else.
    events: tuple[str, ...] = ()
    # The one event that may be approved once every host is drained; see `may_approve_now`.
    approve: str = ""
    why: str = ""
    until: float | None = None
    needs_lease: bool = False
    # The hosts whose journal is another run's, which has lapsed.
    take_over: tuple[str, ...] = ()
    # For a hold: it can never be met, so there is nothing to wait for; what is short is hosts in service.
    never: bool = False
    short_of_service: bool = False
    in_the_way: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether an approval may be sent."""

    allowed: bool
    why: str = ""
