# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world as a whole."""

from __future__ import annotations

import random

from .azure import Azure
from .clockwork import Clockwork
from .lease import LockHost
from .machines import Balancer, WorldHost
from .parts import ALL
from .run import Run
from .truth import LONGEST_COMMAND, Truth

GROUP = "set"


class World:
    """`domains`: host -> domain. `groups`: host -> declared group; without it, all are of one. `shared`: the hosts of a
    group get one document; otherwise they are single VMs.

    `lock_hosts`: group -> three machines, which may be hosts of the fleet. `lies`: machine -> its lies.
    """

    def __init__(self, domains, events=(), parts=ALL, shared=True, seed=0, groups=None, lock_hosts=None, lies=None):
        self.clock = Clockwork()
        self.parts = parts
        self.domain = dict(domains)
        self.group = dict(groups or dict.fromkeys(self.domain, GROUP))
        self.lies = dict(lies or {})
        self.random = random.Random(seed)
        self.diary = []
        self.truth = Truth(self)
        self.hosts = {name: WorldHost(self, name) for name in self.domain}
        self.balancer = Balancer(self, self.domain)
        self.lock_hosts = {
            group: [LockHost(self, name, group) for name in (lock_hosts or {}).get(group, ("k0", "k1", "k2"))]
            for group in dict.fromkeys(self.group.values())
        }
        for lock_host in self._all_lock_hosts():
            lock_host.lies = self.lies.get(lock_host.name, ())
        self.runs = {}
        # (run, point) -> what happens to the run when it gets there: ("kill",) or ("stop", seconds).
        self.accidents = {}
        self.azure = Azure(self, events, shared)

    def _all_lock_hosts(self):
        return [lock_host for lock_hosts in self.lock_hosts.values() for lock_host in lock_hosts]

    def lose_lock_files(self, machine):
        for lock_host in self._all_lock_hosts():
            if lock_host.name == machine:
                lock_host.loses_disk(self.clock.now)

    def has_liar(self, group):
        """Whether a host of it lies. A lock host that is no host of it is not one."""
        return any(name in self.lies for name, its in self.group.items() if its == group)

    def loses_disk(self, host):
        """By an accident, and not by an event."""
        machine = self.hosts[host]
        if machine.is_away or not machine.up:
            return
        self.tell(f"{host} loses its disk")
        machine.goes_down(10.0)
        yield 10.0
        machine.comes_back(lost_disk=True)
        machine.disk_lost_at = self.clock.now

    def hangs(self, host, seconds):
        self.tell(f"{host} hangs for {seconds:.0f} s")
        self.hosts[host].hangs = True
        yield seconds
        self.hosts[host].hangs = False

    def tell(self, text):
        self.diary.append(f"{self.clock.now:7.1f} {text}")

    def start_run(self, name, hosts=None, at=0.0, **more):
        run = Run(self, name, hosts or list(self.hosts), **more)
        self.runs[name] = run
        self.clock.start(run.life(), run, after=max(0.0, at - self.clock.now))
        return run

    def is_taken_away(self, host):
        """Whether it is drained for a Preempt, which I2 does not count.

        After it was cancelled, too: while a command may be under way that was decided before, and while the run that
        drains for it alone is at work, as no note tells others of that. docs/waves.md
        """
        journal, now = self.hosts[host].journal, self.clock.now
        for_nothing_else = bool(journal and journal.events) and all(
            self.azure.type_of(event) in ("Preempt", "Terminate") for event in journal.events
        )
        return (for_nothing_else and journal.until > now) or any(
            event.type in ("Preempt", "Terminate")
            and host in event.hosts
            and (event.shown or now - event.over_at < LONGEST_COMMAND)
            for event in self.azure.events.values()
        )

    def may_return(self, host, events):
        """A host does not bring itself back while its own document shows that it is taken."""
        return not any(
            event.status == "Started" and event.takes_down and host in event.hosts
            for event in self.azure.document(host)
        )

    def go(self, until):
        self.clock.go(until)
