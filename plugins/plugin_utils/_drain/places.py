# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On which other machines the steps of a fleet act, and in which folders those keep their records. Pure."""

from __future__ import annotations

import posixpath
import typing as t
from collections.abc import Callable, Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import DEFAULT_PATH
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import place_of

# What is taken of a host's variables: as they are written, and resolved only where they name another machine.
PLACE_VARIABLES = ("drain_steps", "drain_records", "drain_journal")


class RecordsPlace(t.NamedTuple):
    """A folder with records on another machine."""

    machine: str
    folder: str


def places_of(
    hosts: Iterable[str],
    raw: Callable[[str], Mapping[str, t.Any]],
    resolved: Callable[[str, t.Any], t.Any],
) -> dict[str, list[RecordsPlace]]:
    """Host -> where its steps leave records. `raw` gives a host's variables unresolved, `resolved` a value of them."""
    found: dict[str, list[RecordsPlace]] = {}
    for host in hosts:
        variables = raw(host)
        steps = variables.get("drain_steps")
        if isinstance(steps, str):
            steps = resolved(host, steps)
        machines = [_machine(host, step, resolved) for step in steps if isinstance(step, Mapping)] if steps else []
        for machine in dict.fromkeys(filter(None, machines)):
            found.setdefault(host, []).append(RecordsPlace(machine, _folder(host, machine, variables, raw, resolved)))
    return found


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
    return posixpath.join(posixpath.dirname(journal), "records")
