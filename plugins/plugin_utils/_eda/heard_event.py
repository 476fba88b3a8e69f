# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of one event, from the words of all hosts that tell of it. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import Account, canonical_name, merged
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import seconds_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import HeardHost, Now
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import PENDING, STARTED

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
    two, one of whom lies, and nobody can tell which: until that is over, who says that it is to come is believed.
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
            names.setdefault(canonical_name(name), name)
    return list(names.values())


def one_event_of(words: Mapping[str, _Known], state: str, named: t.Container[str]) -> _Known:
    """One event of all that is told of it. `named`: the hosts that it names, as they say themselves."""
    event = merged(Account(host in named, word) for host, word in words.items())
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
        candidates = sorted(by_vm.get(canonical_name(vm_name), ()))
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
    own = canonical_name(host.vm_name)
    others = [word for name, word in words.items() if name != host.name]
    return not others or any(own in map(canonical_name, word["resources"]) for word in others)
