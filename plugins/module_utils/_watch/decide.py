# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host does about its own events, without a controller and without a word from other hosts. Pure.

Every host decides by itself here, so that only the document keeps two of them from going down at once: of the events
that name different VMs the first alone may be acted on.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import (
    VANISHING_TYPES,
    canonical_id,
    canonical_name,
    names_host,
    refresh,
    timestamp,
)
from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import first_match

ACTIONS = ("tell", "drain", "drain_and_approve")
# An event that is gone may have left its host on its way back, for so long.
SECONDS_TO_COME_BACK = 30

# `event` is the one to drain for, or None. `late`: although another one comes first, so that it is never approved.
# `approve`: it may be approved once all is done. `past_others`: steps that others must do do not stop it.
# `look_again_in`: when time alone may change this, in seconds, or None.
Reflex = collections.namedtuple("Reflex", "event late approve past_others why look_again_in")

# What a run has left on this host: `holds` while it is at work, `recent` for 30 minutes after.
RunMark = collections.namedtuple("RunMark", "holds recent")
NO_RUN = RunMark(False, False)


def decide_reflex(document, vm_name, sightings, rules, now, latest, run=NO_RUN):
    """What is to be begun now. What has begun is not asked about again."""
    events = _by_now(document, now)
    candidates = [(event, rule) for event, rule in _ruled(events, vm_name, rules) if rule.action != "tell"]
    if not candidates:
        return Reflex(None, False, False, False, "there is nothing to do", None)
    # What vanishes anyway takes nothing away from the others.
    candidates.sort(key=lambda one: (one[0]["type"] not in VANISHING_TYPES, one[0]["not_before"] or ""))
    waits = []
    for event, rule in candidates:
        reflex = _of_one(event, rule, events, sightings, now, latest, run)
        if reflex.event:
            return reflex
        waits.append(reflex)
    soonest = min((one.look_again_in for one in waits if one.look_again_in is not None), default=None)
    return waits[0]._replace(look_again_in=soonest)


def approvable_events(document, vm_name, rules, now):
    """The ids of the events that these rules have approved."""
    ruled = _ruled(_by_now(document, now), vm_name, rules)
    return {canonical_id(event["id"]) for event, rule in ruled if rule.action == "drain_and_approve"}


def _by_now(document, now):
    return refresh({"events": [dict(event) for event in document["events"]]}, now)["events"]


def _ruled(events, vm_name, rules):
    """The events of this VM, each with the rule that decides about it."""
    found = [(event, first_match(event, rules)) for event in events if names_host(event, vm_name)]
    return [(event, rule) for event, rule in found if rule]


def _of_one(event, rule, events, sightings, now, latest, run):
    approve = rule.action == "drain_and_approve"
    past_others = rule.flags.get("past_others", False)

    def begin(why, late=False):
        return Reflex(event, late, approve and not late, past_others, why, None)

    def wait(why, seconds=None):
        until_latest = None if due is None else max(0, due - now - latest)
        times = [one for one in (seconds, until_latest) if one is not None]
        return Reflex(None, False, False, past_others, why, min(times) if times else None)

    due = None if event["not_before"] is None else timestamp(event["not_before"])
    if event["type"] in VANISHING_TYPES:
        return begin("this VM is going to be taken away")
    if run.holds:
        return wait("a run is at work on this host", 1)
    others = others_than(event, events)
    since = None if sightings.others_gone_at is None else now - sightings.others_gone_at
    may_still_come_back = since is not None and 0 <= since < SECONDS_TO_COME_BACK
    if event["status"] == "Started":
        # Azure takes it down whatever is done here, also while another host is on its way back.
        return begin("it has started", late=True)
    # What has no date that is understood is never due: nobody knows when its last moment is, and all would take it.
    is_late = due is not None and due - now <= latest
    if not others or (not run.recent and all(sightings.came_before(event, other) for other in others)):
        if since is not None and may_still_come_back:
            if is_late:
                return begin("it is due, although another host may still be on its way back", late=True)
            return wait("the host of an event that is over may still be on its way back", SECONDS_TO_COME_BACK - since)
        return begin("it came before the events of other VMs" if others else "no event of another VM is there")
    if is_late:
        return begin("it is due, although the event of another VM comes first", late=True)
    if run.recent:
        return wait("a run was here a short while ago, and another VM has an event too")
    return wait("the event of another VM comes first")


def others_than(event, events):
    """The events that name a VM which this one does not."""
    mine = [canonical_name(name) for name in event["resources"]]
    return [other for other in events if any(canonical_name(name) not in mine for name in other["resources"])]


def may_be_approved(document, event, vm_name):
    """By the document that was read right before the approval: it is as it was, for this VM alone, and the only one.

    `event` is what the host was drained for.
    """
    shown = [one for one in document["events"] if canonical_id(one["id"]) == canonical_id(event["id"])]
    if len(shown) != 1 or shown[0]["status"] != "Scheduled":
        return False
    same = all(shown[0][key] == event.get(key) for key in ("type", "not_before", "resources"))
    alone = [canonical_name(name) for name in shown[0]["resources"]] == [canonical_name(vm_name)]
    return same and alone and not others_than(shown[0], document["events"])
