# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cases for the decisions of a run: hosts, events and what is said about them, with few words."""

from __future__ import annotations

import dataclasses

from ansible_collections.maintenance.azure.plugins.plugin_utils._run.model import Event, Host, Journal, Run, Settings
from ansible_collections.maintenance.azure.plugins.plugin_utils._run.rules import what_may_go_down_now

NOW = 1000.0
LATER = NOW + 3600.0


def reboot(event_id, *hosts, due=LATER, **more):
    return Event(event_id, more.pop("type", "Reboot"), more.pop("status", "Scheduled"), due, hosts, **more)


def started(event_id, *hosts, **more):
    return reboot(event_id, *hosts, due=None, status="Started", **more)


def freeze(event_id, *hosts, due=LATER):
    return reboot(event_id, *hosts, due=due, type="Freeze", action="approve")


def drained(*events, owner="me", marks=(), **more):
    return Journal(owner, events, ("Reboot",) * len(events), True, more.pop("finished", True), marks=marks, **more)


def seen_by(hosts, events):
    """The hosts with their own accounts of what they show, and the events as each group has them."""
    known = {event.id: event for event in events}
    made = []
    for host in hosts:
        own = {i: known[i].hosts for i in known if (i in host.shows or not host.read) and host.name in known[i].hosts}
        made.append(dataclasses.replace(host, named_with={**own, **host.named_with}))
    groups = {host.group: {event for one in hosts if one.group == host.group for event in one.shows} for host in hosts}
    found = [dataclasses.replace(known[i], group=group) for group in groups for i in known if i in groups[group]]
    return tuple(made), tuple(found)


def run(hosts, events=(), act=None, settings=None, **more):
    """`hosts`: name -> domain, or a Host. All of one group, and all show all events, unless they say otherwise."""
    made = []
    for name, what in hosts.items():
        host = what if isinstance(what, Host) else Host(name, "set", what)
        shows = host.shows or tuple(event.id for event in events)
        made.append(dataclasses.replace(host, shows=shows if host.read else ()))
    may_act_on = frozenset(hosts if act is None else act)
    return Run("me", NOW, *seen_by(made, events), settings=settings or Settings(), may_act_on=may_act_on, **more)


def told(state):
    return [(move.kind, move.hosts, move.approve) for move in what_may_go_down_now(state)]


def rounds(state):
    return [(kind, hosts, approve) for kind, hosts, approve in told(state) if kind == "round"]


def reasons(state):
    return [move.why for move in what_may_go_down_now(state) if move.kind == "hold"]


WEB = {"web0": "0", "web1": "1", "web2": "2"}
