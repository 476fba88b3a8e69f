# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ledger: what the rules are told, and when."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils._host import run_mark
from .._azure import events as azure
from . import notices, told
from .notices import Allowance, Notice
from .told import HeardEvent, HeardHost, Now

# State is level, not edge. Whatever is lost here, a restart or a lie, is made good by the next word of each host; and
# all that a word can do is to start a run, which reads everything for itself.

# A host that was silent for so long is no longer expected, and what it told of no longer waited for.
FORGOTTEN_AFTER = 24 * 3600.0
# What is told while a run is at work would wait for it, and find nothing left to do. So a run that says to be at
# work, by its mark on a host, is waited for; but not for ever, as it may be a lie, and not when the date is near. The
# mark of a host that others say to be named counts for longer than that of one that only tells of the event: a run that
# is at work on its neighbours comes to it later, and so many reminders would keep other groups from their runs.
LONGEST_WAIT_FOR_A_RUN = 300.0
REMINDERS_LEFT_OUT_FOR_OTHERS = 1
TOO_LATE_TO_WAIT = 180.0
# With the secret of a fleet one VM can invent others. What is beyond is refused, and hosts that are known are not.
MOST_HOSTS = 5000
# Each that is told as pending is a run, and a run sees all there is. So many are started at once by what one host
# says, or what comes from one address, which may be that of a fleet; and so many more in the time of a reminder. The
# others wait.
RUNS_OF_A_HOST = (20, 5)
RUNS_OF_AN_ADDRESS = (200, 100)
# Each that is told as silent may be told to a person.
SILENT_AT_ONCE, SILENT_A_SECOND = 100, 2
# Seconds until something is looked at again that could not be told yet.
LOOK_AGAIN = 1.0

_EventForRules = dict[str, t.Any]
_Words = t.Mapping[str, dict[str, t.Any]]


class Ledger:
    def __init__(self, settle: float, remind: float, silent_after: float, max_skew: float) -> None:
        self.settle = settle
        self.remind = remind
        self.silent_after = silent_after
        self.max_skew = max_skew
        self.hosts: dict[str, HeardHost] = {}
        self.events: dict[str, HeardEvent] = {}
        # Grows with all that a restart must not lose.
        self.changes = 0
        # What could not be told, for the log.
        self.complaints: list[str] = []
        self._by_vm: dict[str, set[str]] = {}
        self._to_tell: list[_EventForRules] = []
        # Events that are over, for as long as somebody may say that they are not: until when, and what was known.
        self._gone: dict[str, tuple[float, HeardEvent]] = {}
        self._left_drained = told.LeftDrained(remind, silent_after)
        self._runs_of_host = Allowance(RUNS_OF_A_HOST[0], RUNS_OF_A_HOST[1] / remind)
        self._runs_of_address = Allowance(RUNS_OF_AN_ADDRESS[0], RUNS_OF_AN_ADDRESS[1] / remind)
        self._silences = Allowance(SILENT_AT_ONCE, SILENT_A_SECOND)

    def has_room_for(self, name: str) -> bool:
        """Whether it is known, or may become so: in the place of the one that is silent for longest, if need be."""
        if name in self.hosts or len(self.hosts) < MOST_HOSTS:
            return True
        silent = [host for host in self.hosts.values() if host.is_silent and not host.events and not host.drained]
        if not silent:
            return False
        self._remove(min(silent, key=lambda host: host.heard_at))
        return True

    def hear(self, notice: Notice, now: Now, address: str = "") -> bool:
        """Returns whether it was news; one that is not newer than the last of its host changes nothing. `address`: from
        where it came."""
        host = self.hosts.get(notice.host)
        # A clock that is ahead, or a lie about it, must not make look late what comes after it.
        sent = (min(notice.sent_at, now.wall), notice.sequence)
        if host and not host.is_newer(sent, address):
            # It speaks all the same.
            host.heard_at = now.steady
            return False
        host = host or self._add(notice.host, now)
        host.note(sent, address)
        host.heard_at, host.behind = now.steady, max(0.0, now.wall - notice.sent_at)
        if host.is_silent:
            host.is_silent = False
            self.changes += 1
            self._to_tell.append(told.event_for_rules(told.BACK, host.group, [host.shown], now.wall))
        host.run_until = min(notice.run_until or 0.0, now.wall + run_mark.SECONDS_OF_A_MARK)
        # Before the first good reading nothing is known, which is not the same as no events.
        if notice.status is not None:
            self._take(host, notice, notice.status, now)
        return True

    def hear_odd_clock(self, notice: Notice, now: Now) -> None:
        """Signed, but at another time: a VM that stood still. That it speaks is told once. What is older than the last
        of its host was sent again by whoever has recorded it, and says nothing."""
        host = self.hosts.get(notice.host) or self._add(notice.host, now)
        sent = (notice.sent_at, notice.sequence)
        if host.is_silent or sent <= host.newest or (host.odd_clock is not None and sent <= host.odd_clock):
            return
        host.odd_clock, host.is_silent = sent, True
        self.changes += 1
        self._to_tell.append(told.event_for_rules(told.SILENT, host.group, [host.shown], now.wall, reason=told.CLOCK))

    def expect(self, name: str, now: Now, group: str, called: str) -> None:
        """One that is to be heard of, also if it was not yet: its silence counts from now."""
        host = self.hosts.get(name) or self._add(name, now)
        if notices.is_after_a_host(host.group):
            host.group = group
        host.called = host.called or called

    def call(self, name: str, called: str) -> None:
        """What the rules call it from now on."""
        if name in self.hosts:
            self.hosts[name].called = called

    def due(self, now: Now) -> list[_EventForRules]:
        """What the rules are to be told now."""
        found, self._to_tell = self._to_tell, []
        self._forget(now)
        # Those that are known for longest come first: who invents hosts does not hold up what is told of others.
        for host in self.hosts.values():
            if not host.is_silent and now.steady - host.heard_at >= self.silent_after:
                if not self._silences.takes("", now.steady):
                    break
                host.is_silent = True
                self.changes += 1
                found.append(
                    told.event_for_rules(told.SILENT, host.group, [host.shown], now.wall, reason=told.NOTHING_HEARD)
                )
        for event in list(self.events.values()):
            try:
                found += self._due_of(event, now)
            except Exception as error:  # noqa: BLE001 - what one VM says must not keep those of others from being told
                self._drop(event)
                self.complaints.append(f"event {event.id} can't be told: {error!r}")
        return found + self._due_of_drained(now)

    def next_due(self, now: Now) -> float:
        """For how long nothing is due, unless something is heard."""
        soonest = min((event.due_at for event in self.events.values() if event.due_at is not None), default=None)
        return 1.0 if soonest is None else min(1.0, max(0.0, soonest - now.steady))

    def restore_host(self, host: HeardHost) -> None:
        """As it was kept. Nobody could be heard meanwhile, so that its silence counts from now."""
        self.hosts[host.name] = host
        self._by_vm.setdefault(azure.canonical_name(host.vm_name), set()).add(host.name)

    def restore_event(self, event: HeardEvent, now: Now) -> None:
        """It is told with the next word of a host that tells of it; the runs that were started for it may be dead."""
        event.told_at = now.steady
        self.events[event.id] = event

    def _add(self, name: str, now: Now) -> HeardHost:
        host = HeardHost(name, notices.name_after(name), now.steady, name)
        self.restore_host(host)
        self.changes += 1
        return host

    def _take(self, host: HeardHost, notice: Notice, status: t.Mapping[str, t.Any], now: Now) -> None:
        identity = status["this_host"]
        vm_name = str(identity["vm_name"]) if identity else host.vm_name
        if vm_name != host.vm_name:
            self._is_no_longer_called(host)
            host.vm_name = vm_name
            self._by_vm.setdefault(azure.canonical_name(vm_name), set()).add(host.name)
            self.changes += 1
        # Not ahead of now, or no reading after it would be as new.
        read_at = min(status["read_at"], now.wall)
        is_older = host.read_at is not None and read_at < host.read_at
        known = {azure.canonical_id(event["id"]): event for event in status["events"]}
        own = azure.canonical_name(vm_name)
        events = {
            event_id: event_id in notice.named_in or own in map(azure.canonical_name, event["resources"])
            for event_id, event in known.items()
        }
        was = host.events
        # An older reading may say what there is, and not what there is no longer.
        host.events = {**was, **events} if is_older else events
        drained = notice.drained or (is_older and host.drained)
        if not is_older:
            host.read_at = read_at
        self.changes += drained != host.drained
        host.drained = drained
        self._find_group(host, notices.name_by_azure(identity))
        for event_id in was:
            if event_id not in host.events:
                self._no_longer(host, event_id, now)
        for event_id, event in known.items():
            self._tells_of(host, event_id, event, now)

    def _find_group(self, host: HeardHost, by_azure: str | None) -> None:
        name = by_azure or host.group
        if by_azure is None and notices.is_after_a_host(name):
            # Who tells of the same events gets the same documents.
            for event_id in host.events:
                event = self.events.get(event_id)
                if event and event.told_by and event.group != name:
                    name = event.group
                    break
        if name == host.group:
            return
        before, host.group = host.group, name
        self.changes += 1
        if notices.is_after_a_host(before):
            for other in self.hosts.values():
                if other.group == before:
                    other.group = name
            for event in self.events.values():
                if event.group == before:
                    event.group = name

    def _no_longer(self, host: HeardHost, event_id: str, now: Now) -> None:
        event = self.events.get(event_id)
        if event and event.told_by.pop(host.name, None):
            event.hear(host.name, None, now, self.silent_after)
            self.changes += 1
            if event.told_by:
                self._news(event, host, now)
            else:
                event.due_at = now.steady

    def _tells_of(self, host: HeardHost, event_id: str, known: dict[str, t.Any], now: Now) -> None:
        event = self.events.get(event_id)
        if event is None:
            _until, event = self._gone.pop(event_id, (0.0, HeardEvent(event_id, group=host.group)))
            self.events[event_id] = event
            self.changes += 1
        before = event.told_by.get(host.name)
        # A group says the same with one voice: kept once.
        word = event.last if event.last == known else dict(known)
        event.hear(host.name, word, now, self.silent_after)
        if before == known:
            # After a restart: what was kept is so still.
            if not event.told_as and event.due_at is None:
                self._news(event, host, now)
            return
        event.told_by[host.name] = event.last = word
        self.changes += 1
        self._news(event, host, now)

    def _news(self, event: HeardEvent, host: HeardHost, now: Now) -> None:
        """The others of the group are about to say the same."""
        deadlines = told.deadlines_of(event.told_by)
        left = max(0.0, deadlines[0] - now.wall) if deadlines else self.settle * 10
        due_at = now.steady + min(self.settle, left / 10)
        event.due_at = due_at if event.due_at is None else min(event.due_at, due_at)
        event.news_of = host.name

    def _due_of(self, event: HeardEvent, now: Now) -> list[_EventForRules]:
        is_news = event.due_at is not None and event.due_at <= now.steady
        if is_news:
            event.due_at = None
        elif event.told_by and (event.told_at is None or now.steady - event.told_at < self.remind):
            return []
        words = event.words(now.steady)
        if not words:
            return self._over(event, now)
        hosts, unwatched = told.named_hosts(event.id, words, told.resources_of(words), self.hosts, self._by_vm)
        is_reminder = self._is_to_be_reminded_of(event, words, now)
        if not is_news and not is_reminder:
            return []
        states = told.states_of(words, {name for name in words if name not in self.hosts or self.hosts[name].is_silent})
        named = {name for name in words if name in self.hosts and self.hosts[name].events.get(event.id)}
        found = []
        # The first that says so is trusted that it starts; but with that word no VM ends the reminders of the others.
        for state in [one for one in (told.PENDING, told.STARTED) if one in states]:
            deadlines = told.deadlines_of(words) if state == told.PENDING else []
            names = tuple(dict.fromkeys(host.shown for host in hosts))
            content = (state, names, tuple(unwatched), deadlines[0] if deadlines else None)
            is_new = is_news and content != event.told_as.get(state)
            if not is_new and not (is_reminder and state == told.PENDING):
                continue
            if state == told.PENDING:
                if not self._may_start_a_run(list(words) if is_reminder else [event.news_of], now):
                    event.due_at = now.steady + LOOK_AGAIN
                    continue
                # What was told before is told anew from here on.
                event.told_as, event.told_at = {}, now.steady
                event.attempt += 1
            event.told_as[state] = content
            self.changes += 1
            found.append(
                told.event_for_rules(
                    state,
                    event.group,
                    names,
                    now.wall,
                    event=told.one_event_of(words, state, named),
                    unwatched=unwatched,
                    deadline=content[3],
                    attempt=max(1, event.attempt),
                )
            )
        if words != event.told_by and event.due_at is None:
            # What was taken back meanwhile is told, as soon as that is what counts.
            event.due_at = max(now.steady + LOOK_AGAIN, event.disputed_until)
        return found

    def _may_start_a_run(self, names: Iterable[str], now: Now) -> bool:
        """Whether one of those that want it still may."""
        for host in [self.hosts[name] for name in names if name in self.hosts]:
            address = next(reversed(host.newest_from), "")
            if self._runs_of_address.has(address, now.steady) and self._runs_of_host.takes(host.name, now.steady):
                return self._runs_of_address.takes(address, now.steady)
        return False

    def _over(self, event: HeardEvent, now: Now) -> list[_EventForRules]:
        was_told = bool(event.attempt or event.told_as)
        self._drop(event)
        event.told_as, event.told_at = {}, None
        self._gone[event.id] = (now.steady + self.silent_after, event)
        hosts, unwatched = told.named_hosts(event.id, {}, event.last["resources"], self.hosts, self._by_vm)
        names = dict.fromkeys(host.shown for host in hosts)
        over = told.event_for_rules(told.OVER, event.group, names, now.wall, event=event.last, unwatched=unwatched)
        return [over] if was_told else []

    def _drop(self, event: HeardEvent) -> None:
        del self.events[event.id]
        self.changes += 1

    def _is_to_be_reminded_of(self, event: HeardEvent, words: _Words, now: Now) -> bool:
        if event.told_at is None or now.steady - event.told_at < self.remind or not event.has_time(now):
            return False
        deadlines = told.deadlines_of(words)
        if deadlines and deadlines[0] - now.wall < TOO_LATE_TO_WAIT:
            return True
        telling = [self.hosts[name] for name in words if name in self.hosts]
        if now.steady - event.told_at < self.remind * (1 + REMINDERS_LEFT_OUT_FOR_OTHERS):
            return not self._is_waited_for(telling, event.told_at, now)
        return not self._is_waited_for(
            [host for host in telling if told.is_named_by_another(host, words)], event.told_at, now
        )

    def _is_waited_for(self, hosts: Iterable[HeardHost], since: float, now: Now) -> bool:
        """Whether a run says to be at work on one of these hosts."""
        if now.steady - since >= max(self.remind, LONGEST_WAIT_FOR_A_RUN):
            return False
        return any(host.run_until > now.wall for host in hosts)

    def _due_of_drained(self, now: Now) -> list[_EventForRules]:
        """Hosts that are out of service for no event, group by group."""

        def is_reason(event_id: str) -> bool:
            event = self.events.get(event_id)
            speaking = event and any(name in self.hosts and not self.hosts[name].is_silent for name in event.told_by)
            return bool(
                event and (speaking or (told.PENDING in told.states_of(event.told_by, ()) and event.has_time(now)))
            )

        groups = self._left_drained.due(
            self.hosts.values(), is_reason, lambda hosts, since: self._is_waited_for(hosts, since, now), now
        )
        return [
            told.event_for_rules(told.OVER, group, [host.shown for host in hosts], now.wall, drained=True)
            for group, hosts in groups.items()
        ]

    def _forget(self, now: Now) -> None:
        for host in [one for one in self.hosts.values() if now.steady - one.heard_at > FORGOTTEN_AFTER]:
            self._remove(host)
            for event_id in host.events:
                self._no_longer(host, event_id, now)
        for event_id in [one for one, (until, _event) in self._gone.items() if until <= now.steady]:
            del self._gone[event_id]

    def _remove(self, host: HeardHost) -> None:
        del self.hosts[host.name]
        self._is_no_longer_called(host)
        self.changes += 1

    def _is_no_longer_called(self, host: HeardHost) -> None:
        those = self._by_vm[azure.canonical_name(host.vm_name)]
        those.discard(host.name)
        if not those:
            del self._by_vm[azure.canonical_name(host.vm_name)]


# Times are those of the day. What was kept is no more trusted than a notice: it only says whom to expect.

VERSION = 1
_OF_A_HOST = (
    "group",
    "vm_name",
    "called",
    "newest",
    "newest_from",
    "behind",
    "read_at",
    "events",
    "drained",
    "is_silent",
    "odd_clock",
)


def to_keep(ledger: Ledger) -> dict[str, t.Any]:
    return {
        "version": VERSION,
        "hosts": {host.name: {key: getattr(host, key) for key in _OF_A_HOST} for host in ledger.hosts.values()},
        "events": [
            {"event": event.last, "told_by": list(event.told_by), "group": event.group, "attempt": event.attempt}
            for event in ledger.events.values()
        ],
    }


def take_up(ledger: Ledger, kept: t.Any, now: Now, endpoints: t.Container[str] = ()) -> None:
    """`endpoints`: those that are read, which have no name. Raises ValueError for what is no such data."""
    if not isinstance(kept, dict) or kept.get("version") != VERSION:
        raise ValueError("it was not written by this version")
    try:
        hosts = [
            _host(name, about, now)
            for name, about in kept["hosts"].items()
            if notices.is_name(name) or name in endpoints
        ]
        events = [_event(about, {host.name for host in hosts}) for about in kept["events"]]
    except (KeyError, TypeError, AttributeError, OverflowError, azure.BadReading) as error:
        raise ValueError(f"it is damaged: {error!r}") from None
    for host in hosts:
        ledger.restore_host(host)
    for event in events:
        ledger.restore_event(event, now)


def _host(name: str, about: dict[str, t.Any], now: Now) -> HeardHost:
    odd_clock = about["odd_clock"]
    return dataclasses.replace(
        HeardHost(name, str(about["group"]), now.steady, str(about["vm_name"])),
        called=str(about.get("called", "")),
        newest=_sent(about["newest"], now),
        newest_from={str(address): _sent(pair, now) for address, pair in about.get("newest_from", {}).items()},
        behind=float(about.get("behind", 0.0)),
        # What is ahead of now was never so, or the clock of this machine was.
        read_at=None if about["read_at"] is None else min(float(about["read_at"]), now.wall),
        events={str(event_id): bool(is_named) for event_id, is_named in about["events"].items()},
        drained=bool(about["drained"]),
        is_silent=bool(about["is_silent"]),
        odd_clock=None if odd_clock is None else _pair(odd_clock),
    )


def _event(about: dict[str, t.Any], hosts: set[str]) -> HeardEvent:
    (known,) = azure.known_of_status({"events": [about["event"]], "read_at": "1970-01-01T00:00:00Z"})["events"]
    known = notices.tellable(known)
    told_by = dict.fromkeys((name for name in about["told_by"] if name in hosts), known)
    return HeardEvent(
        azure.canonical_id(known["id"]), told_by, known, group=str(about["group"]), attempt=int(about["attempt"])
    )


def _sent(value: t.Any, now: Now) -> tuple[float, int]:
    sent_at, sequence = _pair(value)
    return min(sent_at, now.wall), sequence


def _pair(value: t.Any) -> tuple[float, int]:
    sent_at, sequence = value
    return float(sent_at), int(sequence)


# A watcher sends at most one notice a second, and one that could not be sent is not sent at once again.
NOTICES_AT_ONCE, NOTICES_A_SECOND = 20, 2
# Times in notices are whole seconds, and take a moment to get here.
SLACK = 2.0
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
_TIME = re.compile(r"[0-9]{1,12}")


class NotTaken(t.NamedTuple):
    """The status to answer, and why, for the log. Who sent it learns no more than the status."""

    status: int
    why: str


class Door:
    def __init__(self, arguments: notices.SourceArguments, ledger: Ledger) -> None:
        self.arguments = arguments
        self.ledger = ledger
        self._allowance = Allowance(NOTICES_AT_ONCE, NOTICES_A_SECOND)
        self._signatures = notices.SeenSignatures()
        # Since when signatures are known, and by how much the clocks of hosts that are known from before were behind.
        self._open_since = 0.0
        self._behind: dict[str, float] = {}

    def let_in(self, peer: str, headers: Mapping[str, str], body: bytes, now: Now) -> NotTaken | None:
        """None where it was taken. `headers` have lower-case names."""
        host = headers.get("x-maintenance-host", "")
        if not notices.is_name(host):
            return NotTaken(400, "X-Maintenance-Host is no name of a host")
        needs_signature = bool(self.arguments.secret or self.arguments.secrets)
        signature, at = "", 0
        if needs_signature:
            given = _SIGNATURE.fullmatch(headers.get("x-maintenance-signature", ""))
            moment = _TIME.fullmatch(headers.get("x-maintenance-time", ""))
            if not given or not moment:
                return NotTaken(401, f"{host}: it is not signed")
            signature, at = given[1], int(moment[0])
            if not notices.is_signed(self.arguments.secrets_of(host), signature, at, host, body):
                return NotTaken(401, f"{host}: the signature is wrong")
        # By the sender, too: with a secret of the fleet one VM could use up what another may send.
        if not self._allowance.takes((peer, host), now.steady):
            return NotTaken(429, f"{host}: more than {NOTICES_A_SECOND} notices a second")
        try:
            notice = notices.understand(body, host)
        except notices.BadNotice as error:
            return NotTaken(400, f"{host}: {error}")
        if needs_signature:
            away = at - now.wall
            if abs(away) > self.arguments.max_skew:
                if self.ledger.has_room_for(host):
                    self.ledger.hear_odd_clock(notice, now)
                return NotTaken(403, f"{host}: its clock is {abs(away):.0f} s {'ahead' if away > 0 else 'behind'}")
            if self._is_from_before(notice, now):
                return NotTaken(409, f"{host}: it was sent before the source was started")
            if not self._signatures.is_new(signature, at + self.arguments.max_skew, now.wall):
                return NotTaken(409, f"{host}: this very notice was there before")
        if not self.ledger.has_room_for(host):
            return NotTaken(503, f"{host}: more than {MOST_HOSTS} hosts")
        self.ledger.hear(notice, now, peer)
        return None

    def open(self, now: Now) -> None:
        """From now on signatures are kept. What was signed before may have been used then."""
        self._open_since = now.wall
        self._behind = {host.name: host.behind for host in self.ledger.hosts.values()}

    def _is_from_before(self, notice: Notice, now: Now) -> bool:
        """By the clock of its host, as it was. A watcher sends no notice twice: it comes again with a fresh one."""
        if self._behind and abs(now.wall - self._open_since) > self.arguments.max_skew:
            # The window refuses it.
            self._behind = {}
        behind = self._behind.get(notice.host)
        return behind is not None and notice.sent_at + behind < self._open_since - SLACK
