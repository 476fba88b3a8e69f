# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which other machines and in which clusters the steps of a fleet act, and where those keep their records. Pure."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Callable, Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import place_of

# What is taken of a host's variables: as they are written, and resolved only where they name another machine.
PLACE_VARIABLES = ("drain_steps", "drain_records", "drain_journal")


class RecordsPlace(t.NamedTuple):
    """A folder with records on another machine."""

    machine: str
    folder: str

    @property
    def in_words(self) -> str:
        return self.machine


class Cluster(t.NamedTuple):
    """A cluster whose nodes have annotations, and the machine that talks to it."""

    machine: str
    kubeconfig: str
    context: str

    @property
    def in_words(self) -> str:
        named = " ".join(filter(None, (self.kubeconfig, self.context)))
        return f"the cluster {named} that {self.machine} talks to" if named else f"the cluster of {self.machine}"


def clusters_of(
    hosts: Iterable[str],
    raw: Callable[[str], Mapping[str, t.Any]],
    resolved: Callable[[str, t.Any], t.Any],
) -> dict[str, list[Cluster]]:
    """Host -> the clusters whose nodes its steps drain."""
    found: dict[str, list[Cluster]] = {}
    for host in hosts:
        for step in _steps(host, raw(host), resolved):
            node = step.get("kubernetes")
            if isinstance(node, Mapping):
                where = [str(resolved(host, node.get(name)) or "") for name in Cluster._fields[1:]]
                machine = str(resolved(host, node.get("host")) or "localhost")
                found.setdefault(host, []).append(Cluster(machine, *where))
    return {host: list(dict.fromkeys(clusters)) for host, clusters in found.items()}


def places_of(
    hosts: Iterable[str],
    raw: Callable[[str], Mapping[str, t.Any]],
    resolved: Callable[[str, t.Any], t.Any],
) -> dict[str, list[RecordsPlace]]:
    """Host -> where its steps leave records. `raw` gives a host's variables unresolved, `resolved` a value of them."""
    found: dict[str, list[RecordsPlace]] = {}
    for host in hosts:
        variables = raw(host)
        machines = [_machine(host, step, resolved) for step in _steps(host, variables, resolved)]
        for machine in dict.fromkeys(filter(None, machines)):
            found.setdefault(host, []).append(RecordsPlace(machine, _folder(host, machine, variables, raw, resolved)))
    return found


def _steps(
    host: str, variables: Mapping[str, t.Any], resolved: Callable[[str, t.Any], t.Any]
) -> list[Mapping[str, t.Any]]:
    steps = variables.get("drain_steps")
    if isinstance(steps, str):
        steps = resolved(host, steps)
    return [step for step in steps if isinstance(step, Mapping)] if steps else []


def _machine(host: str, step: Mapping[str, t.Any], resolved: Callable[[str, t.Any], t.Any]) -> str:
    balancer = step.get("load_balancer")
    if not isinstance(balancer, Mapping):
        return ""
    # Only where it is: the rest of a step may need an event to be resolved.
    where = {
        name: {"host": resolved(host, inner["host"])}
        for name, inner in balancer.items()
        if isinstance(inner, Mapping) and inner.get("host")
    }
    return place_of("load_balancer", where, host) or ""


def _folder(
    host: str,
    machine: str,
    variables: Mapping[str, t.Any],
    raw: Callable[[str], Mapping[str, t.Any]],
    resolved: Callable[[str, t.Any], t.Any],
) -> str:
    own = raw(machine).get("drain_records")
    if own:
        return str(resolved(machine, own))
    if variables.get("drain_records"):
        return str(resolved(host, variables["drain_records"]))
    journal = str(resolved(host, variables.get("drain_journal") or DEFAULT_PATH))
    if not journal.startswith("/"):
        # That of a Windows host; the other machine is none.
        journal = DEFAULT_PATH
    return posixpath.join(posixpath.dirname(journal), "records")
