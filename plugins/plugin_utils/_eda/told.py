# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events as hosts report them, and as the rules receive them."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Callable, Iterable, Mapping

from .._azure import events as azure
from .._common.text import iso_time, seconds_of


class Now(t.NamedTuple):
    """The current time: `steady` is monotonic; `wall` is the time of day, which may be corrected."""

    wall: float
    steady: float


# Addresses of one host for which the newest notice is kept.
MOST_ADDRESSES = 4


@dataclasses.dataclass
class HeardHost:
    """A host that has sent notices, or should."""

    name: str
    group: str
    heard_at: float
    vm_name: str
    # The name for the rules, if it differs: an endpoint has an address.
    called: str = ""
    # `sent_at` and `sequence` of the newest notice, and of the newest from each address.
    newest: tuple[float, int] = (0.0, 0)
    newest_from: dict[str, tuple[float, int]] = dataclasses.field(default_factory=dict)
    # The lag of its clock, by its newest notice.
    behind: float = 0.0
    read_at: float | None = None
    # The events of its last good reading: id -> True if the event names the host.
    events: dict[str, bool] = dataclasses.field(default_factory=dict)
    drained: bool = False
    # Since when it is drained without an event, or when that was last sent; when last seen; the pause before the next.
    drained_since: float | None = None
    drained_seen: float = 0.0
    drained_pause: float = 0.0
    run_until: float = 0.0
    is_silent: bool = False
    # The newest notice outside the window that was reported.
    odd_clock: tuple[float, int] | None = None

    @property
    def shown(self) -> str:
        return self.called or self.name

    def is_newer(self, sent: tuple[float, int], address: str) -> bool:
        """Return True if nothing as new has arrived, from the same address if it is known.

        With the secret of the fleet a VM can sign for another host, but not send from its address, and so not make its
        notices look old.
        """
        return sent > self.newest_from.get(address, self.newest)

    def note(self, sent: tuple[float, int], address: str) -> None:
        self.newest = max(self.newest, sent)
        self.newest_from.pop(address, None)
        self.newest_from[address] = sent
        while len(self.newest_from) > MOST_ADDRESSES:
            del self.newest_from[next(iter(self.newest_from))]


# ansible-rulebook passes an event to playbooks as an extra variable, which Ansible trusts like a text of the user. So
# no text of a VM or of Azure in it may look like a template.

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
    """Build an event for the rules. `drained`: its hosts are out of service without an event, for a run to return."""
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
    """Return a value in which no text can be a template: a blank splits the signs that begin or end one."""
    if isinstance(value, str):
        if not value.isascii():
            # A lone surrogate, which JSON can hold and no program can write.
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
    """The last report of a host by which an event is still to come."""

    word: _Known
    # The latest date in the host's reports.
    until: float
    counts_until: float


@dataclasses.dataclass
class HeardEvent:
    """An event that a host reports, or did. `told_by` has the newest report of each host that still does.

    Azure never plans an event again under the same id after it was withdrawn or has started. A host that reports so has
    two senders, one of which is lying, and nothing shows which: until that has ended, reports that the event is to come
    are trusted.
    """

    id: str
    told_by: dict[str, _Known] = dataclasses.field(default_factory=dict)
    # The last report, used when no host reports it any more.
    last: _Known = dataclasses.field(default_factory=dict)
    group: str = ""
    attempt: int = 0
    # The time of the next check for news, and the host that reported them; None if there are none.
    due_at: float | None = None
    news_of: str = ""
    # When it was last sent as pending: reminders count from then.
    told_at: float | None = None
    told_as: dict[str, tuple[t.Any, ...]] = dataclasses.field(default_factory=dict)
    to_come: dict[str, ToCome] = dataclasses.field(default_factory=dict)
    taken_back: set[str] = dataclasses.field(default_factory=set)
    disputed_until: float = float("-inf")

    def hear(self, host: str, word: _Known | None, now: Now, counts_for: float) -> None:
        """Process the newest report of a host; None for a reading without the event."""
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
        """Return True if withdrawn reports still count: an event to come is sent once in any case."""
        return not self.attempt or steady < self.disputed_until

    def words(self, steady: float) -> dict[str, _Known]:
        """Return the report of each host that counts."""
        if not self.is_held(steady):
            return self.told_by
        held = {host: one.word for host, one in self.to_come.items() if steady < one.counts_until}
        return {**self.told_by, **held}

    def has_time(self, now: Now) -> bool:
        """Return True if the latest reported date is still to come: an invented date must not end the reminders."""
        dates = [_date_of(word) for word in self.words(now.steady).values() if word["status"] != "Started"]
        if self.is_held(now.steady):
            dates += [one.until for one in self.to_come.values() if now.steady < one.counts_until]
        return not dates or max(dates) > now.wall


def _date_of(word: Mapping[str, t.Any]) -> float:
    """Return the date of an event. One without a date, or with an unreadable one, is still to come."""
    moment = seconds_of(word["not_before"])
    return float("inf") if moment is None else moment


def states_of(words: Mapping[str, _Known], silent: t.Container[str]) -> set[str]:
    """Return the states in the reports of speaking hosts, or of all. They differ at the start, or by a lie."""
    speaking = [event for host, event in words.items() if host not in silent] or list(words.values())
    return {STARTED if event["status"] == "Started" else PENDING for event in speaking}


def deadlines_of(words: Mapping[str, _Known]) -> list[float]:
    """Return the dates of all reports: they agree, unless a host lies or has an old reading."""
    texts = {event["not_before"] for event in words.values() if event["status"] != "Started"}
    return sorted(moment for text in texts if (moment := seconds_of(text)) is not None)


def resources_of(words: Mapping[str, _Known]) -> list[str]:
    names: dict[str, str] = {}
    for resources in {tuple(event["resources"]): None for event in words.values()}:
        for name in resources:
            names.setdefault(azure.canonical_name(name), name)
    return list(names.values())


def one_event_of(words: Mapping[str, _Known], state: str, named: t.Container[str]) -> _Known:
    """Merge all reports into one event. `named`: the hosts that it names by their own reports."""
    event = azure.merged(azure.Account(host in named, word) for host, word in words.items())
    return {**event, "status": _STATUS[state], "not_before": event["not_before"] if state == PENDING else None}


def named_hosts(
    event_id: str,
    words: Mapping[str, _Known],
    resources: Iterable[str],
    hosts: Mapping[str, HeardHost],
    by_vm: Mapping[str, t.Collection[str]],
) -> tuple[list[HeardHost], list[str]]:
    """Return the hosts that an event names, those that report it first, and its VMs that have no host."""
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
    """Return True if another host reports this one as named, or if there is no other. Its own report does not count."""
    own = azure.canonical_name(host.vm_name)
    others = [word for name, word in words.items() if name != host.name]
    return not others or any(own in map(azure.canonical_name, word["resources"]) for word in others)


# A host that went down with its event is not missed for this long: it may be rebooting.
LONGEST_REBOOT = 900.0
# No notice reports that a silent host was returned. So its reminders become rarer, up to this interval.
LONGEST_PAUSE = 3600.0


class LeftDrained:
    def __init__(self, remind: float, counts_for: float) -> None:
        self.remind = remind
        # A host that reports for a moment that it is not drained starts no new wait.
        self.counts_for = counts_for

    def due(
        self,
        hosts: Iterable[HeardHost],
        is_reason: Callable[[str], bool],
        is_waited_for: Callable[[list[HeardHost], float], bool],
        now: Now,
    ) -> dict[str, list[HeardHost]]:
        """Return the hosts to return to service, by group.

        `is_reason` returns True for an event that is known to exist; `is_waited_for` returns True if a run that began
        after a time is at work on one of the hosts.
        """
        groups: dict[str, list[HeardHost]] = {}
        for host in hosts:
            if host.drained and not _has_reason(host, is_reason, now):
                self._note(host, now)
                groups.setdefault(host.group, []).append(host)
        return {group: those for group, those in groups.items() if self._is_their_turn(those, is_waited_for, now)}

    def _note(self, host: HeardHost, now: Now) -> None:
        # The run that drained it may be about to return it, so the first event waits for the pause as well.
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
