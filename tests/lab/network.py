# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's own network: one bridge and, for each machine, a namespace with a cable to it.

Nothing of it touches the network of the machine that the lab runs on.
"""

from __future__ import annotations

import contextlib

from lab.names import MACHINES, METADATA_ADDRESS, OUTSIDE, PREFIX, WEB, Place
from lab.shell import run


def up() -> None:
    run("ip", "netns", "add", OUTSIDE.namespace)
    _ip(OUTSIDE, "link set lo up")
    _ip(OUTSIDE, f"link add br0 address {OUTSIDE.mac} type bridge")
    _ip(OUTSIDE, f"addr add {OUTSIDE.address}/24 dev br0")
    _ip(OUTSIDE, "link set br0 up")
    for place in MACHINES:
        run("ip", "netns", "add", place.namespace)
        _ip(place, "link set lo up")
        _ip(place, f"link add eth0 address {place.mac} type veth peer name {place.name} netns {OUTSIDE.namespace}")
        _ip(place, f"addr add {place.address}/24 dev eth0")
        _ip(place, "link set eth0 up")
        _ip(OUTSIDE, f"link set {place.name} master br0")
        if place in WEB:
            _connect_to_its_host(place)
    for place in [OUTSIDE, *MACHINES]:
        device = "br0" if place is OUTSIDE else "eth0"
        for other in [OUTSIDE, *MACHINES]:
            if other is not place:
                # As in Azure's network, where the fabric answers for a VM: what is sent to one that is off gets lost.
                _ip(place, f"neigh replace {other.address} lladdr {other.mac} dev {device} nud permanent")


def _connect_to_its_host(place: Place) -> None:
    """As in Azure, the metadata service is not in the VM but on the host below it, at the end of a cable of its own."""
    run("ip", "netns", "add", place.host_namespace)
    run("ip", "-n", place.namespace, *f"link add host0 type veth peer name vm0 netns {place.host_namespace}".split())
    _ip(place, "link set host0 up")
    _ip(place, f"route add {METADATA_ADDRESS}/32 dev host0 src {place.address}")
    for words in (
        "link set lo up",
        f"addr add {METADATA_ADDRESS}/32 dev vm0",
        "link set vm0 up",
        f"route add {place.address}/32 dev vm0 src {METADATA_ADDRESS}",
    ):
        run("ip", "-n", place.host_namespace, *words.split())


def plug(place: Place, connected: bool) -> None:
    _ip(OUTSIDE, f"link set {place.name} {'up' if connected else 'down'}")


def namespaces() -> list[str]:
    names = [line.split()[0] for line in run("ip", "netns", "list").splitlines() if line.strip()]
    return [name for name in names if name.startswith(f"{PREFIX}-")]


def down() -> None:
    for name in namespaces():
        with contextlib.suppress(RuntimeError):  # another that is about to end may have been quicker
            run("ip", "netns", "del", name)


def inside(place: Place) -> list[str]:
    """The words that make the command behind them run in the place's network."""
    return ["nsenter", f"--net=/run/netns/{place.namespace}"]


def _ip(place: Place, words: str) -> None:
    run("ip", "-n", place.namespace, *words.split())
