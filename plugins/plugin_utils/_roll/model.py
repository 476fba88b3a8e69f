# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a roll knows and decides, as plain data. Pure.

Times are seconds by the controller's clock. `to_data` and `from_data` are the only way to JSON and back.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import VANISHING_TYPES

Json: t.TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
_Data = t.TypeVar("_Data")


@dataclasses.dataclass(frozen=True)
class Event:
    """One event, put together from all good readings that show it."""

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
    """What the holder of a lease was about to do to a host; the keepers hold it."""

    host: str
    events: tuple[str, ...]
    type: str
    run: str
    # Where an approval is about to be sent: it.
    mark: Mark | None = None


@dataclasses.dataclass(frozen=True)
class Host:
    """What is known about a host of the inventory."""

    name: str
    group: str
    domain: str
    # A good reading. Without one, `journal` is what this run has seen there before.
    read: bool = True
    # The ids of the events in its own good reading.
    shows: tuple[str, ...] = ()
    journal: Journal | None = None
    # Why it is not believed (two hosts claim one VM): it covers nothing, what is drained there is still returned.
    refused: str = ""
    # Why this run can't return it to service.
    stuck: str = ""
    healthy: bool = True
    service: str = ""


@dataclasses.dataclass(frozen=True)
class Lease:
    """What a run knows about the lease of a group. It never concludes from its own clock that it still has it."""

    group: str
    held: bool = False
    # The keepers that can't be reached, where that is so many that no majority is left.
    lost_keepers: tuple[str, ...] = ()


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
    # For a hold: it can never be met, so there is nothing to wait for.
    never: bool = False


@dataclasses.dataclass(frozen=True)
class Batch:
    """Hosts for one batch of `serial`."""

    hosts: tuple[str, ...]
    # group -> domains in it. More than one only where hosts hang together through events.
    domains: Mapping[str, tuple[str, ...]]
    events: tuple[str, ...]
    deadline: float | None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether an approval may be sent."""

    allowed: bool
    why: str = ""


@dataclasses.dataclass(frozen=True)
class Order:
    """What one host is told to do in a round."""

    host: str
    move: str
    events: tuple[str, ...] = ()
    approve: str = ""
    take_over: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of an order."""

    host: str
    state: str
    events: tuple[str, ...] = ()
    approved: tuple[str, ...] = ()
    error: str = ""


@dataclasses.dataclass(frozen=True)
class Plan:
    """The batches of a run, and what a person should know about them."""

    batches: tuple[Batch, ...]
    warnings: tuple[str, ...] = ()


def orders(move: Move) -> tuple[Order, ...]:
    """The move as each of its hosts is told it."""
    return tuple(Order(host, move.kind, move.events, move.approve, host in move.take_over) for host in move.hosts)


class BadData(ValueError):
    """The data is not what the model says. Names the place."""


def to_data(value: t.Any) -> Json:
    """Plain JSON data of any of the above."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_data(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return [to_data(item) for item in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [to_data(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        # JSON has no infinity.
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise BadData(f"{type(value).__name__} is no data of a roll")


def from_data(kind: type[_Data], data: t.Any) -> _Data:
    """The opposite. Raises BadData where the data does not fit; what is left out has its default."""
    return t.cast(_Data, _made(kind, data, kind.__name__))


@functools.cache
def _hints(kind: type) -> dict[str, t.Any]:
    return t.get_type_hints(kind)


def _made(kind: t.Any, data: t.Any, where: str) -> t.Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _made_dataclass(kind, data, where)
    origin, inner = t.get_origin(kind), t.get_args(kind)
    if origin in (types.UnionType, t.Union):
        return _made_choice(inner, data, where)
    if origin in (tuple, frozenset):
        if not isinstance(data, (list, tuple)):
            raise BadData(f"{where} is not a list")
        return origin(_made(inner[0], item, f"{where}[{number}]") for number, item in enumerate(data))
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(data, Mapping):
            raise BadData(f"{where} is not a mapping")
        return {str(key): _made(inner[1], item, f"{where}.{key}") for key, item in data.items()}
    return _made_plain(kind, data, where)


def _made_dataclass(kind: type, data: t.Any, where: str) -> t.Any:
    if not isinstance(data, Mapping):
        raise BadData(f"{where} is not a mapping")
    hints = _hints(kind)
    unknown = sorted(str(key) for key in data if key not in hints)
    if unknown:
        raise BadData(f"{where} has no {', '.join(unknown)}")
    try:
        return kind(**{name: _made(hints[name], item, f"{where}.{name}") for name, item in data.items()})
    except TypeError as error:
        raise BadData(f"{where}: {error}") from None


def _made_choice(kinds: tuple[t.Any, ...], data: t.Any, where: str) -> t.Any:
    complaints = []
    for kind in kinds:
        try:
            return _made(kind, data, where)
        except BadData as error:
            complaints.append(str(error))
    raise BadData(complaints[0])


def _made_plain(kind: t.Any, data: t.Any, where: str) -> t.Any:
    if kind is type(None):
        if data is None:
            return None
    elif kind is float:
        if data in ("inf", "-inf") or (isinstance(data, (int, float)) and not isinstance(data, bool)):
            return float(data)
    elif kind is int:
        if isinstance(data, int) and not isinstance(data, bool):
            return int(data)
    elif isinstance(data, kind):
        # Ansible's own strings are kinds of str: what is kept is plain.
        return kind(data)
    raise BadData(f"{where} is {data!r:.80}, which is no {getattr(kind, '__name__', kind)}")
