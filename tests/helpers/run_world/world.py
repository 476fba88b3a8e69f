# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world as a whole."""

from __future__ import annotations

import random

from .azure import Azure
from .clockwork import Clockwork
from .machines import Balancer, Keeper, WorldHost
from .parts import ALL
from .run import Run
from .truth import Truth

# A host refuses what was read more than 40 s before, and sends nothing more than 20 s after its command arrived.
LONGEST_COMMAND = 60.0


class World:
    """`domains`: host -> domain, all of one group. `shared`: they get one document; otherwise they are single VMs."""

    def __init__(self, domains, events=(), parts=ALL, shared=True, seed=0):
        self.clock = Clockwork()
        self.parts = parts
        self.domain = dict(domains)
        self.random = random.Random(seed)
        self.diary = []
        self.truth = Truth(self)
        self.hosts = {name: WorldHost(self, name) for name in self.domain}
        self.balancer = Balancer(self, self.domain)
        self.keepers = [Keeper(self) for _number in range(3)]
        self.runs = {}
        # (run, point) -> what happens to the run when it gets there: ("kill",) or ("stop", seconds).
        self.accidents = {}
        self.azure = Azure(self, events, shared)

    def tell(self, text):
        self.diary.append(f"{self.clock.now:7.1f} {text}")

    def start_run(self, name, hosts=None, at=0.0, **more):
        run = Run(self, name, hosts or list(self.hosts), **more)
        self.runs[name] = run
        self.clock.start(run.life(), run, after=max(0.0, at - self.clock.now))
        return run

    def is_vanishing(self, host):
        """Also for as long as a command may be under way that was decided before it was cancelled: docs/waves.md."""
        return any(
            event.type in ("Preempt", "Terminate")
            and host in event.hosts
            and (event.shown or self.clock.now - event.over_at < LONGEST_COMMAND)
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
