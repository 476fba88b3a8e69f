# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory's overlay: groups and variables of maintenance."""

from __future__ import annotations

import re
import typing as t

from .._azure import doubts, vms
from .._azure import events as azure
from .._common.text import iso_time, printable, some_of
from . import matching
from .matching import Failure, HostsByName, InventoryHost, Knowledge, Overlay, OverlaySettings, Reading, ReadingView

STATE_GROUPS = ("pending", "started", "clear", "unknown")
TYPE_GROUPS = ("freeze", "preempt", "reboot", "redeploy", "terminate")
SOURCE_GROUPS = ("platform", "user")


class StandardGroups:
    def __init__(self, prefix: str) -> None:
        prefix = re.sub(r"[^A-Za-z0-9_]", "_", prefix)
        self.prefix = f"_{prefix}" if prefix[:1].isdigit() else prefix
        self.safe: dict[str, str] = {}
        # A group that is there and empty matches nothing; one that is not there is a warning on every run.
        self.members: dict[str, list[str]] = {}
        for name in STATE_GROUPS:
            self.members[self.prefix + name] = []
        for name in TYPE_GROUPS:
            self.members[f"{self.prefix}type_{name}"] = []
        for name in SOURCE_GROUPS:
            self.members[f"{self.prefix}source_{name}"] = []

    def add(self, name: str, host: str) -> None:
        self.members.setdefault(self.prefix + name, []).append(host)

    def add_status(self, host: str, status: dict[str, t.Any]) -> None:
        names: dict[str, None] = {}
        for event in status["events"]:
            # A state that nobody knows yet is no reason to call the host clear.
            names["started" if event["status"] == "Started" else "pending"] = None
            names[f"type_{self._safe(event['type'])}"] = None
            if event["source"]:
                names[f"source_{self._safe(event['source'])}"] = None
        if not status["events"]:
            names["clear"] = None
        domain = status["this_host"]["update_domain"] if status["this_host"] else None
        if domain:
            names[f"update_domain_{self._safe(domain)}"] = None
        for name in names:
            self.add(name, host)

    def _safe(self, word: str) -> str:
        if word not in self.safe:
            self.safe[word] = re.sub(r"[^a-z0-9]+", "_", str(word).lower()).strip("_")[:60] or "other"
        return self.safe[word]


MOST_WARNINGS = 10
MOST_NAMES = 5


class WhyUnread:
    """Why hosts are unknown, said once per reason."""

    def __init__(
        self,
        fleet: HostsByName,
        too_old: t.Sequence[Reading],
        failures: t.Sequence[Failure],
        settings: OverlaySettings,
        complete: bool,
    ) -> None:
        self.prefix = settings.prefix
        self.failures = dict.fromkeys(failure.text for failure in failures)
        self.why: dict[str, str] = {name: failure.text for failure in failures for name in failure.hosts}
        self.complete = complete
        self.covers_all = settings.covers_all
        self.hosts: dict[str, list[str]] = {}
        for reading in too_old:
            text = (
                f"read at {iso_time(reading.read_at)}, which is longer ago than max_age allows ({settings.max_age:g} s)"
            )
            if reading.hosts:
                reason = f"The last reading is older than max_age allows ({settings.max_age:g} s)"
                self.failures[reason] = None
                self.why.update(dict.fromkeys(reading.hosts, reason))
            else:
                self.failures[f"{reading.origin} was {text}"] = None
                for host in fleet.by_vm_name.get(
                    azure.canonical_name((reading.this_host or {}).get("vm_name") or ""), ()
                ):
                    self.why[host.name] = f"{reading.origin} was {text}"

    def add(self, host: InventoryHost, doubt: str | None) -> None:
        if doubt is not None:
            reason = (
                f"The VM name {shown(doubt)} may mean any of several hosts: give them the variable resource_group, or"
                " maintenance_vm_name where they are different VMs"
            )
        elif host.name in self.why:
            reason = self.why[host.name]
        elif host.endpoint is not None and matching.is_asked_from_within(host.endpoint):
            reason = (
                f"Only the host itself can ask {shown(host.endpoint)}: use source: facts, or give it another endpoint"
            )
        elif not self.complete:
            reason = "Not everything that was to be read could be read"
        elif self.covers_all:
            reason = "No VM that answered is in their resource group or delivery group"
        else:
            reason = "No reading speaks for them: see the option covers and the variable maintenance_delivery_group"
        self.hosts.setdefault(reason, []).append(host.name)

    def tell(self, overlay: Overlay) -> None:
        overlay.problems = list(self.failures)
        lines = [text for text in self.failures if text not in self.hosts]
        lines += [
            f"{reason.rstrip('.')}. Unread, so in {self.prefix}unknown: {some(hosts)}."
            for reason, hosts in self.hosts.items()
        ]
        overlay.warnings += lines[:MOST_WARNINGS]
        overlay.details += lines[MOST_WARNINGS:]
        if len(lines) > MOST_WARNINGS:
            overlay.warnings.append(f"{len(lines) - MOST_WARNINGS} more warnings of this kind: see them with -v.")


def shown(text: str) -> str:
    """Somebody else's text, for a message: one line, and short."""
    letters = printable(text)
    return letters if len(letters) <= 80 else f"{letters[:77]}..."


def some(names: t.Iterable[str]) -> str:
    return some_of([shown(name) for name in names], MOST_NAMES)


# As azure.azcollection.azure_rm names them, then as `maintenance_status.this_host` does.
_RESOURCE_GROUP = "resource_group"
_SUBSCRIPTION = "subscription_id"
_RESOURCE_IDS = ("id", "resource_id")
_VM_IDS = ("vmid", "vm_id")


class HostVariables:
    """Looks only for the few variables that matter: to merge all variables of 10,000 hosts takes seconds."""

    def __init__(
        self,
        inventory: t.Any,
        vm_name_from: t.Sequence[str],
        endpoint_var: str,
        delivery_group_var: str,
        more: t.Callable[[t.Any], dict[str, t.Any]] | None,
        resolve: t.Callable[[str, str, str], t.Any],
    ) -> None:
        self.inventory = inventory
        self.vm_name_from = vm_name_from
        self.endpoint_var = endpoint_var
        self.delivery_group_var = delivery_group_var
        self.more = more
        self.resolve = resolve
        self.wanted = frozenset((*vm_name_from, endpoint_var, delivery_group_var, *vms.IDENTITY_VARIABLES, *_VM_IDS))
        found = ((group, self._of(group)) for group in inventory.groups.values())
        # Only groups that have something to say: mostly there are few, or none.
        self.of_groups = {group.name: variables for group, variables in found if variables}

    def _of(self, entity: t.Any) -> dict[str, t.Any]:
        variables = {name: entity.vars[name] for name in self.wanted.intersection(entity.vars)}
        if self.more:
            more = self.more(entity)
            variables.update((name, more[name]) for name in self.wanted.intersection(more))
        return variables

    def host(self, name: str) -> InventoryHost:
        host = self.inventory.hosts[name]
        variables = self._of(host)
        if self.of_groups:
            telling = [group for group in host.get_groups() if group.name in self.of_groups]
            # The order of ansible.inventory.helpers.sort_groups: what comes later wins, the host's own wins over all.
            for group in sorted(telling, key=lambda group: (group.depth, group.priority, group.name), reverse=True):
                variables = {**self.of_groups[group.name], **variables}

        known = {variable: self._text(name, variable, value) for variable, value in variables.items()}
        vm_name = self._vm_name(known)
        subscription, resource_group = self._home(known)
        endpoint = known.get(self.endpoint_var)
        return InventoryHost(
            name=name,
            vm_name=vm_name or name,
            vm_name_given=vm_name is not None,
            subscription=known.get(_SUBSCRIPTION) or subscription,
            resource_group=known.get(_RESOURCE_GROUP) or resource_group,
            vm_id=known.get(_VM_IDS[0]) or known.get(_VM_IDS[1]),
            delivery_group=known.get(self.delivery_group_var),
            endpoint=matching.normal_endpoint(endpoint) if endpoint else None,
            identity=self._identity(known),
        )

    def _text(self, host: str, variable: str, value: t.Any) -> str | None:
        if isinstance(value, str) and ("{{" in value or "{%" in value):
            value = self.resolve(host, variable, value)
        return str(value).strip() or None if isinstance(value, (str, int)) else None

    def _vm_name(self, known: dict[str, str | None]) -> str | None:
        for variable in self.vm_name_from:
            if variable == "inventory_hostname":
                break
            if known.get(variable):
                return known[variable]
        return None

    def _identity(self, known: dict[str, str | None]) -> dict[str, str]:
        found = {name: text for name in vms.IDENTITY_VARIABLES if (text := known.get(name))}
        # A variable that the user names for it is as good as ours.
        own = [name for name in self.vm_name_from if name not in (*vms.IDENTITY_VARIABLES, "inventory_hostname")]
        given = next((text for name in own if (text := known.get(name))), None)
        return {"maintenance_vm_name": given, **found} if given else found

    @staticmethod
    def _home(known: dict[str, str | None]) -> tuple[str | None, str | None]:
        for variable in _RESOURCE_IDS:
            resource_id = known.get(variable)
            if resource_id and resource_id.startswith("/"):
                return azure.parse_resource_id(resource_id)
        return None, None


# The rules, as in docs/inventory.md:
#
# - A reading is the last word on the hosts that it was taken for, on the VM that answered, and on the hosts of the same
#   known delivery group. The newest such reading counts.
# - A reading that names a VM in an event speaks for that VM's host too, unless a newer last word says otherwise.
# - Readings that the user listed may, together, speak for all hosts that have no reading of their own (`covers_all`).
#   Not if one of them failed, and not for a host that is known to live elsewhere.
# - Everything else is unknown. So is a host of which it can't be told whether a reading means it.


def make_overlay(
    hosts: t.Iterable[InventoryHost],
    readings: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
) -> Overlay:
    fleet = HostsByName(hosts)
    oldest = -float("inf") if settings.max_age is None else settings.now - settings.max_age
    in_time = sorted((reading for reading in readings if reading.read_at >= oldest), key=lambda one: one.read_at)
    too_old = [reading for reading in readings if reading.read_at < oldest]
    in_time, not_trusted = _without_false_claims(fleet, in_time)
    failures = [*failures, *not_trusted]
    fleet.trust(in_time)
    views = [ReadingView(reading, settings) for reading in in_time]
    knowledge = Knowledge(fleet, views)
    overlay = Overlay()
    without_host = list(knowledge.without_host.values())
    if settings.create_hosts:
        new = matching.new_hosts(without_host, knowledge.answerers, fleet, settings)
        if new:
            overlay.created = [host.name for host in new]
            fleet = HostsByName([*fleet.hosts.values(), *new])
            fleet.trust(())
            knowledge = Knowledge(fleet, views)
    _give(fleet, knowledge, too_old, failures, settings, overlay)
    _warn(overlay, views, knowledge, without_host, settings)
    for lines in (overlay.warnings, overlay.problems, overlay.details):
        lines[:] = map(printable, lines)
    return overlay


def _without_false_claims(fleet: HostsByName, readings: t.Sequence[Reading]) -> tuple[list[Reading], list[Failure]]:
    """A host whose own word for its name the inventory does not bear out is unread: its events may be another one's."""
    told = {
        reading.hosts[0]: reading.this_host
        for reading in readings
        if reading.told_by_host and reading.this_host and reading.hosts[0] in fleet.hosts
    }
    identities = {name: host.identity for name, host in fleet.hosts.items()}
    # Two hosts with one name are looked at together with all readings.
    claims = vms.false_claims(
        told, identities, {}, lambda: vms.InventoryNames(identities, vms.known_vms(identities, identities))
    )
    refused = {host for claim in claims for host in claim.refused}
    left = [reading for reading in readings if not (reading.told_by_host and reading.hosts[0] in refused)]
    return left, [
        Failure("the inventory", doubt["why"], tuple(doubt["hosts"])) for doubt in doubts.about_claims(claims, {})
    ]


class _Listed:
    """Whether the readings that the user listed speak, all together, for a host that has none of its own."""

    def __init__(self, views: t.Sequence[ReadingView], complete: bool, settings: OverlaySettings) -> None:
        self.views = [view for view in views if view.reading.listed] if complete and settings.covers_all else []
        self.known: dict[tuple[str | None, str | None, str | None], ReadingView | None] = {}

    def view_for(self, host: InventoryHost) -> ReadingView | None:
        if host.endpoint is not None and not matching.is_asked_from_within(host.endpoint):
            return None
        key = (host.subscription, host.resource_group, host.delivery_group)
        if key not in self.known:
            self.known[key] = next((view for view in reversed(self.views) if self._may_cover(view, host)), None)
        return self.known[key]

    @staticmethod
    def _may_cover(view: ReadingView, host: InventoryHost) -> bool:
        elsewhere = view.groups and host.delivery_group is not None and host.delivery_group not in view.groups
        return not elsewhere and not view.scope.denies(host)


def _give(
    fleet: HostsByName,
    knowledge: Knowledge,
    too_old: t.Sequence[Reading],
    failures: t.Sequence[Failure],
    settings: OverlaySettings,
    overlay: Overlay,
) -> None:
    groups = StandardGroups(settings.prefix)
    complete = not any(failure.listed for failure in failures) and not any(reading.listed for reading in too_old)
    listed = _Listed(knowledge.views, complete, settings)
    why = WhyUnread(fleet, too_old, failures, settings, complete)
    shared: dict[tuple[t.Any, ...], dict[str, t.Any]] = {}
    for host in fleet.hosts.values():
        word = knowledge.last_word(host)
        doubt = knowledge.in_doubt(host, word)
        mentioned_by = knowledge.mentions.get(host.name, [])
        view = word or (mentioned_by[-1] if mentioned_by else None) or listed.view_for(host)
        if doubt is not None or view is None:
            groups.add("unknown", host.name)
            why.add(host, doubt)
            continue
        identity = knowledge.own_identity(host)
        events = _events_of(host, word, mentioned_by)
        key = (id(view), id(identity), *map(id, events))
        if key not in shared:
            shared[key] = {
                "this_host": identity,
                "document_incarnation": view.given(view.reading.document_incarnation),
                "events": events,
                "pending": any(event["status"] == "Scheduled" for event in events),
                "read_at": view.read_at_text,
            }
        overlay.statuses[host.name] = shared[key]
        if events and identity is None and host.vm_name != host.name:
            overlay.vm_names[host.name] = settings.guard(host.vm_name)
        groups.add_status(host.name, shared[key])
    overlay.groups = groups.members
    why.tell(overlay)


def _events_of(
    host: InventoryHost, word: ReadingView | None, mentioned_by: t.Sequence[ReadingView]
) -> list[vms.EventData]:
    """The events of the last word and of all that is newer; the newest version of each."""
    found: dict[str, tuple[ReadingView, vms.EventData]] = {}
    views = [] if word is None else [word]
    views += [view for view in mentioned_by if word is None or (view is not word and view.read_at >= word.read_at)]
    for view in views:
        for event in view.mentions.get(host.name, ()):
            found[azure.canonical_id(event["id"])] = view, event
    return [view.given(event) for view, event in found.values()]


def _warn(
    overlay: Overlay,
    views: t.Sequence[ReadingView],
    knowledge: Knowledge,
    without_host: t.Sequence[matching.VmWithoutHost],
    settings: OverlaySettings,
) -> None:
    left = list(knowledge.without_host.values())
    if settings.create_hosts:
        if left:
            overlay.warnings.append(
                f"No host was made for these VMs, whose names can't be a host's: {some(one.vm_name for one in left)}."
            )
    elif without_host:
        overlay.warnings.append(
            f"Events name VMs that are no host of this inventory: {some(one.vm_name for one in without_host)}."
            " create_hosts: true would add them; vm_name_from says which variable holds a host's VM name."
        )
    overlay.warnings += list(dict.fromkeys(text for view in views for text in view.warnings))[:MOST_WARNINGS]
