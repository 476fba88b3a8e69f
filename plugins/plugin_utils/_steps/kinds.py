# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of drain steps: their options, identities, and the machines that they act on."""

from __future__ import annotations

import dataclasses
import posixpath
import typing as t
from collections.abc import Callable, Iterable, Mapping

from ...module_utils._host.journal import DEFAULT_PATH
from ...module_utils._steps.kind import KINDS, Kind, kind_of, load_kinds
from .._common import text

Arguments: t.TypeAlias = dict[str, t.Any]
Spec: t.TypeAlias = dict[str, t.Any]

load_kinds()


def _specs() -> dict[str, Spec]:
    """Map kinds to their arguments. Those of a variant form one argument, named after the variant."""
    specs: dict[str, Spec] = {}
    for name, kind in sorted(KINDS.items()):
        group, _dot, variant = name.partition(".")
        options = {variant: dict(type="dict", options=kind.options)} if variant else kind.options
        specs.setdefault(group, {}).update(options)
    return specs


SPECS = _specs()
# A step needs exactly one of these: the variants of a kind, or the arguments of the kind without a variant.
_VARIANTS = {
    group: [name.partition(".")[2] for name in sorted(KINDS) if name.startswith(f"{group}.")] for group in SPECS
}
ONE_OF = {
    group: [*(KINDS[group].known_by if group in KINDS else ()), *variants]
    for group, variants in _VARIANTS.items()
    if variants
}


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str
    arguments: Arguments


def fixed_waits(steps: Iterable[Step]) -> int:
    """Return the seconds that the steps wait in any case."""
    found = [kind_of(step.kind, step.arguments) for step in steps]
    return sum(kind.seconds_waited(arguments) for kind, arguments in found if kind)


def is_done_by_tasks(name: str) -> bool:
    """Return True if tasks do a kind of the collection, so that the role has to write their journal."""
    return name in KINDS and KINDS[name].by_tasks


def place_of(name: str, arguments: Mapping[str, t.Any], here: str) -> str | None:
    """Return the inventory host on which a step of the collection acts, or None for the drained host itself."""
    kind, own = kind_of(name, arguments)
    host = own.get("host") if kind and kind.has_host and not kind.by_tasks else None
    return None if host in (None, here) else str(host)


def webhook_of_the_controller(name: str, arguments: Mapping[str, t.Any]) -> Arguments | None:
    """Return the webhook of a step if it is called from the controller and not from the host."""
    kind, own = kind_of(name, arguments)
    return t.cast("Arguments | None", kind.webhook_of_the_controller(own)) if kind else None


def windows_half(name: str, arguments: Mapping[str, t.Any]) -> tuple[str, bool]:
    """Return the folder of a step's tasks for Windows hosts, and True if it looks at the host before it begins.

    Raise ValueError with a message if the step can't be done on Windows.
    """
    kind, own = kind_of(name, arguments)
    if kind and kind.on_windows:
        return kind.on_windows, kind.looks_on_windows(own)
    there = sorted(_in_words(one) for one in KINDS.values() if one.on_windows or (one.by_tasks and not one.has_host))
    raise ValueError(
        f"{_in_words(kind) if kind else name} can't be done on a Windows host. There the kinds are"
        f" {', '.join(there)}, and what is done on another machine"
    )


def _in_words(kind: type[Kind]) -> str:
    group, _dot, variant = str(kind.name).partition(".")
    variant = variant or next(iter(kind.known_by if group in ONE_OF else ()), "")
    return f"{group}: {variant}" if variant else group


def leaves_nothing(name: str, arguments: Mapping[str, t.Any]) -> bool:
    """Return True if a step of the collection leaves nothing to undo."""
    kind, own = kind_of(name, arguments)
    return bool(kind and kind.leaves_nothing(own))


# A step is recognized by its kind and by its target, such as a server of a backend on a load balancer. Its timeout and
# its messages do not count.

Identity: t.TypeAlias = dict[str, t.Any]


def identity_of(name: str, arguments: Mapping[str, t.Any], here: str, is_own: bool) -> Identity:
    """Return the identity of a step. `here` is the host that is drained; `is_own` marks a kind of the user."""
    kind, own = (None, arguments) if is_own else kind_of(name, arguments)
    if kind is None:
        return {"kind": name, "arguments": dict(arguments)}
    # A command is recognized by the drain command, or by the undo command if it has no other.
    names = [option for option in kind.acts_on if own.get(option) is not None]
    names += [option for option in kind.known_by if own.get(option) is not None][:1]
    identity: Identity = {"kind": kind.name, **{option: own[option] for option in names}}
    if elsewhere := place_of(name, arguments, here):
        identity["host"] = elsewhere
    return identity


def is_known_by_what_it_does(name: str, arguments: Mapping[str, t.Any]) -> bool:
    """Return True if the step is recognized by a command or a task file instead of a target."""
    kind, _own = kind_of(name, arguments)
    return bool(kind and kind.known_by)


def numbered(identities: Iterable[Identity]) -> list[Identity]:
    """Number equal identities from the second one on, so that all differ."""
    seen: list[Identity] = []
    found = []
    for identity in identities:
        again = seen.count(identity)
        seen.append(identity)
        found.append({**identity, "again": again} if again else identity)
    return found


def in_short(identity: Identity) -> str:
    """Return text such as "load_balancer.haproxy web web-1 on lb1", printable, as it may come from a journal."""
    words = [_word(value) for name, value in identity.items() if name not in ("kind", "host", "again")]
    place = f" on {_word(identity['host'])}" if "host" in identity else ""
    return f"{' '.join([_word(identity['kind']), *words])}{place}"


def _word(value: t.Any) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(_word(one) for one in value)[:100]
    return text.printable(value)[:100]


# Read without resolving templates; only the names of other machines are resolved.
PLACE_VARIABLES = ("drain_steps", "drain_records", "drain_journal")


class RecordsPlace(t.NamedTuple):
    """Folder with records on another machine."""

    machine: str
    folder: str

    @property
    def in_words(self) -> str:
        return self.machine


class Cluster(t.NamedTuple):
    """Cluster with annotated nodes, and the machine that connects to it."""

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
    """Map hosts to the clusters whose nodes their steps drain."""
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
    """Map hosts to the places of their records. `raw` returns the unresolved variables of a host."""
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
    # Resolve the machine alone: the rest of a step may need an event.
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
        # The path of a Windows host; the other machine runs Linux.
        journal = DEFAULT_PATH
    return posixpath.join(posixpath.dirname(journal), "records")
