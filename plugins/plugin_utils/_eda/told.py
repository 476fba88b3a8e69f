# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events as the source hears of them, and as the rules are told."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Callable, Iterable, Mapping

from .._azure import events as azure
from .._common.text import iso_time, seconds_of


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


# ansible-rulebook hands an event on to playbooks as an extra variable, which Ansible takes for a text of the user. So
# nothing in it that a VM or Azure said may look like a template.

PENDING, STARTED, OVER, SILENT, BACK = "pending", "started", "over", "silent", "back"
NOTHING_HEARD, CLOCK = "nothing heard", "clock"

_SIGN = re.compile(r"\{(?=[{%#])|[%#}](?=\})")
_HEADER = "#jinja2:"


def event_for_rules(
    state: str,
    group: str,
    hosts: Iterable[str],
    now: float,
    *,
    event: Mapping[str, t.Any] | None = None,
    unwatched: Iterable[str] = (),
    deadline: float | None = None,
    attempt: int = 1,
    reason: str | None = None,
    drained: bool = False,
) -> dict[str, t.Any]:
    """An event for the rules. `drained`: its hosts are out of service for no event, and a run has to return them."""
    names = list(hosts)
    left = None if deadline is None else max(0, int(deadline - now))
    return {
        "maintenance": {
            "state": state,
            "group": group,
            "attempt": attempt,
            "reason": reason,
            "event": None if event is None else no_template({**event, "seconds_left": left, "affects_this_host": None}),
            "hosts": names,
            "unwatched": no_template(list(unwatched)),
            "deadline": None if deadline is None else iso_time(deadline),
            "seconds_left": left,
            "drained": drained,
        },
        "meta": {"hosts": names},
    }


def no_template(value: t.Any) -> t.Any:
    """The same value, in which no text can be a template: signs that begin or end one are set apart by a blank."""
    if isinstance(value, str):
        if not value.isascii():
            # Half of a sign, which JSON can hold and no program can write.
            value = value.encode("utf-8", "replace").decode("utf-8")
        text = _SIGN.sub(lambda sign: sign[0] + " ", value)
        return " " + text if text.startswith(_HEADER) else text
    if isinstance(value, Mapping):
        return {no_template(key): no_template(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [no_template(item) for item in value]
    return value


_Known = dict[str, t.Any]
_STATUS = {PENDING: "Scheduled", STARTED: "Started"}


class ToCome(t.NamedTuple):
    """The last word of a host by which an event is still to come."""

    word: _Known
    # The latest date that was named.
    until: float
    counts_until: float


@dataclasses.dataclass
class HeardEvent:
    """One that some host tells of, or told of. `told_by` has the newest word of each that still does.

    What Azure has taken back, or begun, it never plans again under the same id. So a host that says so is spoken for by
    two, one of whom lies, and nobody can tell which: until that is over, who says that it is to come is trusted.
    """

    id: str
    told_by: dict[str, _Known] = dataclasses.field(default_factory=dict)
    # What was last known of it, for when nobody tells of it any more.
    last: _Known = dataclasses.field(default_factory=dict)
    group: str = ""
    attempt: int = 0
    # When it is to be looked at for news, and whose word they are; None where there are none.
    due_at: float | None = None
    news_of: str = ""
    # When it was last told as pending: the reminders count from then.
    told_at: float | None = None
    told_as: dict[str, tuple[t.Any, ...]] = dataclasses.field(default_factory=dict)
    to_come: dict[str, ToCome] = dataclasses.field(default_factory=dict)
    taken_back: set[str] = dataclasses.field(default_factory=set)
    disputed_until: float = float("-inf")

    def hear(self, host: str, word: _Known | None, now: Now, counts_for: float) -> None:
        """The newest word of a host about it; None for a reading without it."""
        former = self.to_come.get(host)
        if former and former.counts_until <= now.steady:
            del self.to_come[host]
            self.taken_back.discard(host)
            former = None
        until = float("-inf") if word is None or word["status"] == "Started" else _date_of(word)
        if word is None or until <= now.wall:
            if former:
                self.taken_back.add(host)
            return
        if host in self.taken_back:
            self.taken_back.discard(host)
            self.disputed_until = now.steady + counts_for
        latest = max(until, former.until) if former else until
        self.to_come[host] = ToCome(word, latest, now.steady + counts_for)

    def is_held(self, steady: float) -> bool:
        """Whether words count that were taken back: what is to come is told once in any case."""
        return not self.attempt or steady < self.disputed_until

    def words(self, steady: float) -> dict[str, _Known]:
        """The word of each host that counts."""
        if not self.is_held(steady):
            return self.told_by
        held = {host: one.word for host, one in self.to_come.items() if steady < one.counts_until}
        return {**self.told_by, **held}

    def has_time(self, now: Now) -> bool:
        """By the last date that was told: a date that is made up must not end the reminders."""
        dates = [_date_of(word) for word in self.words(now.steady).values() if word["status"] != "Started"]
        if self.is_held(now.steady):
            dates += [one.until for one in self.to_come.values() if now.steady < one.counts_until]
        return not dates or max(dates) > now.wall


def _date_of(word: Mapping[str, t.Any]) -> float:
    """One without a date, or with one that nobody understands, is still to come."""
    moment = seconds_of(word["not_before"])
    return float("inf") if moment is None else moment


def states_of(words: Mapping[str, _Known], silent: t.Container[str]) -> set[str]:
    """What an event is said to be by those that can be heard, or were last. They differ for a moment when it starts, or
    for as long as one of them lies."""
    speaking = [event for host, event in words.items() if host not in silent] or list(words.values())
    return {STARTED if event["status"] == "Started" else PENDING for event in speaking}


def deadlines_of(words: Mapping[str, _Known]) -> list[float]:
    """Of all that tell of it: they agree, unless one of them lies or has an old reading."""
    texts = {event["not_before"] for event in words.values() if event["status"] != "Started"}
    return sorted(moment for text in texts if (moment := seconds_of(text)) is not None)


def resources_of(words: Mapping[str, _Known]) -> list[str]:
    names: dict[str, str] = {}
    for resources in {tuple(event["resources"]): None for event in words.values()}:
        for name in resources:
            names.setdefault(azure.canonical_name(name), name)
    return list(names.values())


def one_event_of(words: Mapping[str, _Known], state: str, named: t.Container[str]) -> _Known:
    """One event of all that is told of it. `named`: the hosts that it names, as they say themselves."""
    event = azure.merged(azure.Account(host in named, word) for host, word in words.items())
    return {**event, "status": _STATUS[state], "not_before": event["not_before"] if state == PENDING else None}


def named_hosts(
    event_id: str,
    words: Mapping[str, _Known],
    resources: Iterable[str],
    hosts: Mapping[str, HeardHost],
    by_vm: Mapping[str, t.Collection[str]],
) -> tuple[list[HeardHost], list[str]]:
    """The hosts that an event names, and the VMs that no host speaks for. Who tells of it is asked first, as two
    groups may have VMs of one name."""
    found: dict[str, None] = {}
    unwatched: list[str] = []
    for vm_name in resources:
        candidates = sorted(by_vm.get(azure.canonical_name(vm_name), ()))
        those = [name for name in candidates if name in words] or candidates
        found.update(dict.fromkeys(those))
        if not those:
            unwatched.append(vm_name)
    for name in words:
        if name in hosts and hosts[name].events.get(event_id):
            found[name] = None
    return [hosts[name] for name in found], unwatched


def is_named_by_another(host: HeardHost, words: Mapping[str, _Known]) -> bool:
    """Or there is no other who could say so: what a host says of itself is no reason to wait."""
    own = azure.canonical_name(host.vm_name)
    others = [word for name, word in words.items() if name != host.name]
    return not others or any(own in map(azure.canonical_name, word["resources"]) for word in others)


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
