# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what watchers tell to what the rules are told: settle, remind, silent, back, over. Pure: the clock is given.

State is level, not edge. Whatever is lost here, a restart or a lie, is made good by the next word of each host; and all
that a word can do is to start a run, which reads everything for itself.
"""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._watch.mark_terms import SECONDS_OF_A_MARK
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id, canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.group_names import (
    is_after_a_host,
    name_after,
    name_by_azure,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import (
    HeardEvent,
    HeardHost,
    Now,
    named_hosts,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import Notice
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import (
    BACK,
    CLOCK,
    NOTHING_HEARD,
    OVER,
    PENDING,
    SILENT,
    STARTED,
    event_for_rules,
)

# A host that was silent for so long is no longer expected, and what it told of no longer waited for.
FORGOTTEN_AFTER = 24 * 3600.0
# What is told while a run is at work would wait for it, and find nothing left to do. So a run that says to be at
# work, by its mark on a host, is waited for; but not for ever, as it may be a lie, and not when the date is near.
LONGEST_WAIT_FOR_A_RUN = 600.0
TOO_LATE_TO_WAIT = 180.0

_EventForRules = dict[str, t.Any]


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
        self._by_vm: dict[str, set[str]] = {}
        self._to_tell: list[_EventForRules] = []
        # Since when there are drained hosts in a group, or when they were last told.
        self._drained_since: dict[str, float] = {}

    def hear(self, notice: Notice, now: Now) -> bool:
        """Returns whether it was news; one that is not newer than the last of its host changes nothing."""
        host = self.hosts.get(notice.host)
        # A host can't be ahead of the window, or it would not be heard again for as long.
        newest = (min(notice.sent_at, now.wall + self.max_skew), notice.sequence)
        if host and newest <= host.newest:
            return False
        host = host or self._add(notice.host, now)
        host.newest, host.heard_at = newest, now.steady
        if host.is_silent:
            host.is_silent = False
            self.changes += 1
            self._to_tell.append(event_for_rules(BACK, host.group, [host.name], now.wall))
        host.run_until = min(notice.run_until or 0.0, now.wall + SECONDS_OF_A_MARK)
        # Before the first good reading nothing is known, which is not the same as no events.
        if notice.status is not None and (host.read_at is None or notice.status["read_at"] >= host.read_at):
            host.drained = notice.drained
            self._take(host, notice, now)
        return True

    def hear_odd_clock(self, notice: Notice, now: Now) -> None:
        """Signed, but at another time: a VM that stood still. That it speaks is told once."""
        host = self.hosts.get(notice.host) or self._add(notice.host, now)
        newest = (notice.sent_at, notice.sequence)
        if host.is_silent or (host.odd_clock is not None and newest <= host.odd_clock):
            return
        host.odd_clock, host.is_silent = newest, True
        self.changes += 1
        self._to_tell.append(event_for_rules(SILENT, host.group, [host.name], now.wall, reason=CLOCK))

    def due(self, now: Now) -> list[_EventForRules]:
        """What the rules are to be told now."""
        found, self._to_tell = self._to_tell, []
        self._forget(now)
        for host in self.hosts.values():
            if not host.is_silent and now.steady - host.heard_at >= self.silent_after:
                host.is_silent = True
                self.changes += 1
                found.append(event_for_rules(SILENT, host.group, [host.name], now.wall, reason=NOTHING_HEARD))
        for event in list(self.events.values()):
            found += self._due_of(event, now)
        return found + self._left_drained(now)

    def next_due(self, now: Now) -> float:
        """For how long nothing is due, unless something is heard."""
        soonest = min((event.due_at for event in self.events.values() if event.due_at is not None), default=None)
        return 1.0 if soonest is None else min(1.0, max(0.0, soonest - now.steady))

    def restore_host(self, host: HeardHost) -> None:
        """As it was kept. Nobody could be heard meanwhile, so that its silence counts from now."""
        self.hosts[host.name] = host
        self._by_vm.setdefault(canonical_name(host.vm_name), set()).add(host.name)

    def restore_event(self, event: HeardEvent, now: Now) -> None:
        """It is told with the next word of a host that tells of it; the runs that were started for it may be dead."""
        event.told_at = now.steady
        self.events[event.id] = event

    def _add(self, name: str, now: Now) -> HeardHost:
        host = HeardHost(name, name_after(name), now.steady, name)
        self.restore_host(host)
        self.changes += 1
        return host

    def _take(self, host: HeardHost, notice: Notice, now: Now) -> None:
        status = t.cast(t.Mapping[str, t.Any], notice.status)
        identity = status["this_host"]
        vm_name = str(identity["vm_name"]) if identity else host.vm_name
        if vm_name != host.vm_name:
            self._by_vm[canonical_name(host.vm_name)].discard(host.name)
            host.vm_name = vm_name
            self._by_vm.setdefault(canonical_name(vm_name), set()).add(host.name)
            self.changes += 1
        known = {canonical_id(event["id"]): event for event in status["events"]}
        own = canonical_name(vm_name)
        host.read_at = status["read_at"]
        was, host.events = (
            host.events,
            {
                event_id: event_id in notice.named_in or own in map(canonical_name, event["resources"])
                for event_id, event in known.items()
            },
        )
        self._find_group(host, name_by_azure(identity))
        for event_id in was:
            if event_id not in known:
                self._no_longer(host, self.events.get(event_id), now)
        for event_id, event in known.items():
            self._tells_of(host, event_id, event, now)

    def _find_group(self, host: HeardHost, by_azure: str | None) -> None:
        name = by_azure or host.group
        if by_azure is None and is_after_a_host(name):
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
        if is_after_a_host(before):
            for other in self.hosts.values():
                if other.group == before:
                    other.group = name
            for event in self.events.values():
                if event.group == before:
                    event.group = name

    def _no_longer(self, host: HeardHost, event: HeardEvent | None, now: Now) -> None:
        if event and event.told_by.pop(host.name, None):
            self.changes += 1
            if event.told_by:
                self._news(event, now)
            else:
                event.due_at = now.steady

    def _tells_of(self, host: HeardHost, event_id: str, known: t.Mapping[str, t.Any], now: Now) -> None:
        event = self.events.get(event_id)
        if event is None:
            event = self.events[event_id] = HeardEvent(event_id, group=host.group)
            self.changes += 1
        before = event.told_by.get(host.name)
        if before == known:
            # After a restart: what was kept is so still.
            if event.told_as is None and event.due_at is None:
                self._news(event, now)
            return
        # A group says the same with one voice: kept once.
        event.told_by[host.name] = event.last if event.last == known else dict(known)
        event.last = event.told_by[host.name]
        self.changes += 1
        self._news(event, now)

    def _news(self, event: HeardEvent, now: Now) -> None:
        """The others of the group are about to say the same."""
        deadlines = event.deadlines()
        left = max(0.0, deadlines[0] - now.wall) if deadlines else self.settle * 10
        due_at = now.steady + min(self.settle, left / 10)
        event.due_at = due_at if event.due_at is None else min(event.due_at, due_at)

    def _due_of(self, event: HeardEvent, now: Now) -> list[_EventForRules]:
        is_news = event.due_at is not None and event.due_at <= now.steady
        if is_news:
            event.due_at = None
        if not event.told_by:
            if not is_news:
                return []
            del self.events[event.id]
            self.changes += 1
            hosts, unwatched = named_hosts(event, event.last["resources"], self.hosts, self._by_vm)
            over = event_for_rules(OVER, event.group, hosts, now.wall, event=event.last, unwatched=unwatched)
            return [over] if event.attempt or event.told_as else []
        if not is_news and not self._is_to_be_reminded_of(event, now):
            return []
        states = event.states({name for name in event.told_by if self.hosts[name].is_silent})
        # The first that says so is believed that it starts; but with that word no VM ends the reminders of the others.
        state = STARTED if STARTED in states and (is_news or PENDING not in states) else PENDING
        hosts, unwatched = named_hosts(event, event.resources(), self.hosts, self._by_vm)
        deadlines = event.deadlines() if state == PENDING else []
        content = (state, tuple(hosts), tuple(unwatched), deadlines[0] if deadlines else None)
        if (is_news and content == event.told_as) or (not is_news and state != PENDING):
            return []
        event.told_as, event.told_at = content, now.steady
        event.attempt += state == PENDING
        self.changes += 1
        return [
            event_for_rules(
                state,
                event.group,
                hosts,
                now.wall,
                event=event.merged(state),
                unwatched=unwatched,
                deadline=content[3],
                attempt=max(1, event.attempt),
            )
        ]

    def _is_to_be_reminded_of(self, event: HeardEvent, now: Now) -> bool:
        if event.told_at is None or now.steady - event.told_at < self.remind or not event.has_time(now.wall):
            return False
        deadlines = event.deadlines()
        if deadlines and deadlines[0] - now.wall < TOO_LATE_TO_WAIT:
            return True
        return not self._is_waited_for(event.group, event.told_at, now)

    def _is_waited_for(self, group: str, since: float, now: Now) -> bool:
        """Whether a run is at work on the group."""
        if now.steady - since >= max(self.remind, LONGEST_WAIT_FOR_A_RUN):
            return False
        return any(host.run_until > now.wall for host in self.hosts.values() if host.group == group)

    def _left_drained(self, now: Now) -> list[_EventForRules]:
        """Hosts that are out of service for no event, group by group."""
        groups: dict[str, list[str]] = {}
        for host in self.hosts.values():
            if host.is_left_drained:
                groups.setdefault(host.group, []).append(host.name)
        # Who drained them may be about to return them: the first time, too, is after so long.
        self._drained_since = {group: self._drained_since.get(group, now.steady) for group in groups}
        found = []
        for group, names in groups.items():
            since = self._drained_since[group]
            if now.steady - since >= self.remind and not self._is_waited_for(group, since, now):
                self._drained_since[group] = now.steady
                found.append(event_for_rules(OVER, group, names, now.wall, drained=True))
        return found

    def _forget(self, now: Now) -> None:
        for name in [one.name for one in self.hosts.values() if now.steady - one.heard_at > FORGOTTEN_AFTER]:
            host = self.hosts.pop(name)
            self._by_vm[canonical_name(host.vm_name)].discard(name)
            for event_id in host.events:
                self._no_longer(host, self.events.get(event_id), now)
