# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kinds of drain steps, how a step is known again, and where it acts."""

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
    """Kind -> the arguments that it takes. Those of a variant are an argument of the name of the variant."""
    specs: dict[str, Spec] = {}
    for name, kind in sorted(KINDS.items()):
        group, _dot, variant = name.partition(".")
        options = {variant: dict(type="dict", options=kind.options)} if variant else kind.options
        specs.setdefault(group, {}).update(options)
    return specs


SPECS = _specs()
# Exactly one of these: the variants of a kind, and what it takes where it is none of them.
ONE_OF = {
    group: [*(KINDS[group].known_by if group in KINDS else ()), *variants]
    for group in SPECS
    if (variants := [name.partition(".")[2] for name in sorted(KINDS) if name.startswith(f"{group}.")])
}


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str
    arguments: Arguments


def fixed_waits(steps: Iterable[Step]) -> int:
    """Seconds that the steps are going to wait whatever happens."""
    found = [kind_of(step.kind, step.arguments) for step in steps]
    return sum(kind.seconds_waited(arguments) for kind, arguments in found if kind)


def is_done_by_tasks(name: str) -> bool:
    """Whether tasks do the work of a kind of ours, so that the role has to keep the journal for them."""
    return name in KINDS and KINDS[name].by_tasks


def place_of(name: str, arguments: Mapping[str, t.Any], here: str) -> str | None:
    """The inventory host that does the work of a step of ours, where it is another than the one that is drained."""
    kind, own = kind_of(name, arguments)
    host = own.get("host") if kind and kind.has_host and not kind.by_tasks else None
    return None if host in (None, here) else str(host)


def webhook_of_the_controller(name: str, arguments: Mapping[str, t.Any]) -> Arguments | None:
    """The webhook of a step that is to be told from the controller and not from the host."""
    kind, own = kind_of(name, arguments)
    return t.cast("Arguments | None", kind.webhook_of_the_controller(own)) if kind else None


def windows_half(name: str, arguments: Mapping[str, t.Any]) -> tuple[str, bool]:
    """The folder of its tasks for Windows hosts, and whether it looks at the host before it begins.

    Raises ValueError with a sentence where there is none.
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
    """Whether a step of ours has no half that undoes it."""
    kind, own = kind_of(name, arguments)
    return bool(kind and kind.leaves_nothing(own))


# A step is known again by its kind and by what it acts on, such as a server of a backend on a load balancer. Its
# timeout and its messages do not count.

Identity: t.TypeAlias = dict[str, t.Any]


def identity_of(name: str, arguments: Mapping[str, t.Any], here: str, is_own: bool) -> Identity:
    """`here` is the inventory host that is drained; `is_own` says that the kind is the user's."""
    kind, own = (None, arguments) if is_own else kind_of(name, arguments)
    if kind is None:
        return {"kind": name, "arguments": dict(arguments)}
    # A command is known by what it does; one that only undoes, by that.
    names = [option for option in kind.acts_on if own.get(option) is not None]
    names += [option for option in kind.known_by if own.get(option) is not None][:1]
    identity: Identity = {"kind": kind.name, **{option: own[option] for option in names}}
    if elsewhere := place_of(name, arguments, here):
        identity["host"] = elsewhere
    return identity


def is_known_by_what_it_does(name: str, arguments: Mapping[str, t.Any]) -> bool:
    """Whether it names a command or a file of tasks, and not what it acts on."""
    kind, _own = kind_of(name, arguments)
    return bool(kind and kind.known_by)


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
    return text.printable(value)[:100]


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
