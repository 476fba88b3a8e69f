# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""By what a step is known again, in a later run or after somebody edited `drain_steps`. Pure.

That is its kind and what it acts on, such as a server of a backend on a load balancer. How long it may take and what it
says is not part of it.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import printable
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import SPECS

Identity: t.TypeAlias = dict[str, t.Any]

# Kind, and its variant where it has some -> the arguments that say what it acts on. The first that is given counts for
# commands, as a command is known by what it does; a command that only undoes is known by that.
_ACTS_ON: dict[str, tuple[str, ...]] = {
    "load_balancer.haproxy": ("backend", "server"),
    "load_balancer.nginx": ("upstream_file", "server"),
    "load_balancer.probe_file": ("path",),
    "failover.patroni": ("url", "cluster"),
    "services": ("names",),
    "connections": ("ports",),
    "kubernetes": ("host", "node"),
    "log": (),
}
_FIRST_OF: dict[str, tuple[str, ...]] = {
    "checkpoint": ("command",),
    "command": ("drain", "restore"),
    "failover": ("command",),
    "tasks": ("drain", "restore"),
}
_VARIANTS = {"load_balancer": ("haproxy", "nginx", "probe_file"), "failover": ("patroni",)}


def identity_of(kind: str, arguments: Mapping[str, t.Any], here: str, is_own: bool) -> Identity:
    """`here` is the inventory host that is drained; `is_own` says that the kind is the user's."""
    if is_own or kind not in SPECS:
        return {"kind": kind, "arguments": dict(arguments)}
    variant = next((name for name in _VARIANTS.get(kind, ()) if isinstance(arguments.get(name), Mapping)), None)
    inner: Mapping[str, t.Any] = arguments[variant] if variant else arguments
    full_kind = f"{kind}.{variant}" if variant else kind
    if full_kind in _FIRST_OF:
        names = [name for name in _FIRST_OF[full_kind] if inner.get(name) is not None][:1]
    else:
        names = [name for name in _ACTS_ON[full_kind] if inner.get(name) is not None]
    identity: Identity = {"kind": full_kind, **{name: inner[name] for name in names}}
    if kind == "load_balancer" and inner.get("host") not in (None, here):
        identity["host"] = str(inner["host"])
    return identity


def numbered(identities: Iterable[Identity]) -> list[Identity]:
    """The same, where of several that are equal each but the first is told apart by its place among them."""
    seen: list[Identity] = []
    found = []
    for identity in identities:
        again = seen.count(identity)
        seen.append(identity)
        found.append({**identity, "again": again} if again else identity)
    return found


def in_short(identity: Identity) -> str:
    """Such as "load_balancer.haproxy web web-1 on lb1", for a sentence. Letters only: it may come from a journal."""
    words = [_word(value) for name, value in identity.items() if name not in ("kind", "host", "again")]
    place = f" on {_word(identity['host'])}" if "host" in identity else ""
    return f"{' '.join([_word(identity['kind']), *words])}{place}"


def _word(value: t.Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_word(one) for one in value)[:100]
    return printable(value)[:100]
