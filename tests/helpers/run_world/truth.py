# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must always hold, judged by what is true in the world and never by what a run believes."""

from __future__ import annotations

# A host refuses what was read more than 40 s before, and sends nothing more than 20 s after its command arrived.
LONGEST_COMMAND = 60.0


class Broken(AssertionError):
    """An invariant does not hold. Says which, and when."""


class Truth:
    def __init__(self, world):
        self.world = world

    def broken(self, what, why):
        raise Broken(f"{what} at {self.world.clock.now:.0f} s: {why}\n" + "\n".join(self.world.diary[-40:]))

    def is_drained(self, host):
        return not self.world.balancer.rotation[host] and not self.world.hosts[host].serves

    def is_disturbed(self, host):
        return not self.world.balancer.rotation[host] or not self.world.hosts[host].serves

    def _is_down(self, host, seen_from, compared_at):
        if self.world.hosts[host].is_away:
            return False
        if self.is_disturbed(host) and not self.world.is_taken_away(host):
            return True
        for event in self.world.azure.events.values():
            # I2 does not count Preempt: the VM is taken away in any case.
            if event.shown and event.takes_down and event.type != "Preempt" and host in event.hosts:
                if event.approved:
                    return True
                # What Azure starts by itself can be known only where it is shown, and only when somebody looks.
                shown = event in self.world.azure.document(seen_from)
                if event.status == "Started" and shown and event.started_at <= compared_at:
                    return True
        return False

    def _one_domain(self, going, together, seen_from, what, compared_at):
        """I2: no host of another domain is down, beyond what one single event names.

        `compared_at`: when the host last compared its document with what the decision was made from.
        """
        honest = {host for host in going if host not in self.world.lies}
        domains = {self.world.domain[host] for host in honest}
        for other in self.world.hosts:
            if not honest or other in self.world.lies or not self._is_same_group(other, seen_from):
                continue
            if other in going or other in together or not self._is_down(other, seen_from, compared_at):
                continue
            if len(domains) > 1 or self.world.domain[other] not in domains:
                self.broken("I2", f"{what}, and {other} of another domain is down")

    def _is_same_group(self, one, other):
        return self.world.group[one] == self.world.group[other]

    def _lost_its_disk(self, host, approved_at):
        """No rule holds that back: what was drained is in service again. Azure has started something by itself after
        the approval was sent, or there was an accident, and a command that was under way could not find out.
        """
        machine = self.world.hosts[host]
        return machine.disk_lost_to_azure >= approved_at or machine.disk_lost_at >= approved_at - LONGEST_COMMAND

    def about_to_approve(self, event, sender):
        if event.action == "drain":
            for host in event.hosts:
                if host in self.world.lies or self._lost_its_disk(host, self.world.clock.now):
                    continue
                if not self.is_drained(host):
                    self.broken("I1", f"{event.id} is approved and {host} is not drained")
        if event.takes_down:
            now = self.world.clock.now
            self._one_domain(set(event.hosts), (), sender, f"{event.id} is approved", now)

    def starts(self, event):
        if event.approved and event.action == "drain":
            for host in event.names_when_approved:
                if host in self.world.lies or self._lost_its_disk(host, event.approved_at):
                    continue
                if not self.is_drained(host):
                    self.broken("I1", f"{event.id}, which was approved, takes {host}, which is in service")

    def about_to_disturb(self, host, event_ids, counted):
        """The first step of a drain. `counted`: not by overlap, nor for what is taken away or was sent already."""
        if self.is_disturbed(host) or not counted:
            return
        # A liar may have named one that does not exist.
        known = self.world.azure.events
        events = [known[event_id] for event_id in event_ids if event_id in known]
        together = {name for event in events if self._counts(event, host) for name in event.hosts}
        journal = self.world.hosts[host].journal
        opened = max((journal.opened.get(event_id, 0.0) for event_id in event_ids), default=0.0) if journal else 0.0
        self._one_domain({host}, together, host, f"{host} is drained for {', '.join(event_ids)}", opened)

    def _counts(self, event, host):
        """An event of several domains that is cancelled between the host's own check and the first step on another
        machine: nobody could know, and both go back.
        """
        journal = self.world.hosts[host].journal
        opened = journal.opened.get(event.id, float("inf")) if journal else float("inf")
        return host in event.hosts and (event.shown or event.over_at >= opened)

    def about_to_return(self, host):
        if host in self.world.lies:
            return
        for event in self.world.azure.events.values():
            if event.shown and event.approved and event.takes_down and host in event.names_when_approved:
                self.broken("I3", f"{host} is returned while {event.id} is under way")

    def kept_out(self, by_run, what):
        """I7: whoever died keeps nobody out for longer than two minutes."""
        run = self.world.runs.get(by_run)
        if run and run.killed_at is not None and self.world.clock.now - run.killed_at > 120:
            self.broken("I7", f"{what} is kept by {by_run}, which died at {run.killed_at:.0f} s")

    def at_the_end(self):
        for host in self.world.hosts:
            if self.world.hosts[host].is_away or self.world.has_liar(self.world.group[host]):
                continue
            if self.is_disturbed(host) and not any(
                event.shown and host in event.hosts for event in self.world.azure.events.values()
            ):
                self.broken("I3", f"{host} is not in service at the end")
