# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All readings together: what is known of each host, and of VMs that no host stands for. Pure."""

from __future__ import annotations

import typing as t

from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.hosts_by_name import (
    Home,
    HostsByName,
    NameMatch,
    lower_case,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.reading_view import ReadingView
from ansible_collections.maintenance.azure.plugins.plugin_utils._inventory.readings import InventoryHost

# Readings of one run are taken within such a time. One of them is no news against another.
SAME_TIME_SECONDS = 60


class VmWithoutHost(t.NamedTuple):
    """A VM that no host stands for."""

    vm_name: str
    scope: Home

    @property
    def key(self) -> tuple[str | None, str | None, str]:
        return lower_case(self.scope.subscription), lower_case(self.scope.resource_group), canonical_name(self.vm_name)


def _second(view: ReadingView) -> int:
    return int(view.read_at)


class Knowledge:
    """All readings together, by host."""

    def __init__(self, fleet: HostsByName, views: t.Sequence[ReadingView]) -> None:
        self.views = views
        self.last_words: dict[str, list[ReadingView]] = {}
        self.group_words: dict[str, ReadingView] = {}
        self.mentions: dict[str, list[ReadingView]] = {}
        self.doubts: dict[str, tuple[float, str]] = {}
        self.without_host: dict[tuple[str | None, str | None, str], VmWithoutHost] = {}
        self.answerers: dict[tuple[str | None, str | None, str], VmWithoutHost] = {}
        # Oldest first, so that what comes later may replace what came before.
        for view in views:
            self._learn(view, fleet)

    def _learn(self, view: ReadingView, fleet: HostsByName) -> None:
        answerer = view.settle(fleet)
        identity = view.reading.this_host
        if identity and identity["vm_name"] and not answerer.hosts and not answerer.candidates and not view.selves:
            vm = VmWithoutHost(identity["vm_name"], view.scope)
            self.answerers[vm.key] = vm
        self._doubt(answerer, view, identity["vm_name"] if identity else None)
        for name in view.selves:
            self.last_words.setdefault(name, []).append(view)
        for group in view.groups:
            self.group_words[group] = view
        view.mentions = {}
        matches: dict[str, NameMatch] = {}
        for event in view.events:
            met: set[str] = set()
            for vm_name in event["resources"]:
                if vm_name not in matches:
                    matches[vm_name] = view.match(fleet, vm_name)
                    self._doubt(matches[vm_name], view, vm_name)
                match = matches[vm_name]
                if not match.hosts and not match.candidates:
                    vm = VmWithoutHost(vm_name, view.scope)
                    self.without_host.setdefault(vm.key, vm)
                for host in match.hosts:
                    if host.name not in met:
                        met.add(host.name)
                        view.mentions.setdefault(host.name, []).append(event)
        for name in view.mentions:
            self.mentions.setdefault(name, []).append(view)

    def _doubt(self, match: NameMatch, view: ReadingView, vm_name: str | None) -> None:
        for host in match.candidates:
            self.doubts[host.name] = (view.read_at, vm_name or "")

    def last_word(self, host: InventoryHost) -> ReadingView | None:
        words = self.last_words.get(host.name, [])
        of_group = self.group_words.get(host.delivery_group) if host.delivery_group is not None else None
        # Of two readings of one second, its own tells more; max takes the first.
        return max([*reversed(words), *([of_group] if of_group else [])], key=_second, default=None)

    def own_identity(self, host: InventoryHost) -> t.Any:
        for view in reversed(self.last_words.get(host.name, [])):
            identity = view.reading.this_host
            if identity and canonical_name(identity["vm_name"] or "") == canonical_name(host.vm_name):
                return view.given(identity)
        return None

    def in_doubt(self, host: InventoryHost, word: ReadingView | None) -> str | None:
        """The name that may mean this host, where nothing settles whether it does."""
        if host.name not in self.doubts:
            return None
        at, vm_name = self.doubts[host.name]
        return None if word and word.read_at >= at - SAME_TIME_SECONDS else vm_name
