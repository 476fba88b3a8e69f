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
from .._common.text import printable

Arguments: t.TypeAlias = dict[str, t.Any]
Spec: t.TypeAlias = dict[str, t.Any]

_TIMEOUT = dict(type="int", default=300)
# A command is a line that is split into words, or a list of words. No shell sees it.
COMMAND = dict(type="raw")

_HAPROXY = dict(
    backend=dict(type="str", required=True),
    server=dict(type="str", required=True),
    socket=dict(type="str", default="/run/haproxy/admin.sock"),
    host=dict(type="str"),
    timeout=dict(type="int", default=60),
    wait_sessions=dict(type="int"),
)
_NGINX = dict(
    upstream_file=dict(type="str", required=True),
    server=dict(type="str", required=True),
    host=dict(type="str"),
    test_command=dict(type="raw", default="nginx -t"),
    reload_command=dict(type="raw", default="nginx -s reload"),
    timeout=dict(type="int", default=60),
)
_PROBE_FILE = dict(
    path=dict(type="str", required=True),
    present_means=dict(type="str", default="healthy", choices=["healthy", "unhealthy"]),
    content=dict(type="str", default=""),
    wait=dict(type="int", default=0),
    timeout=dict(type="int", default=300),
)
_PATRONI = dict(
    url=dict(type="str", default="http://127.0.0.1:8008"),
    cluster=dict(type="str"),
    candidate=dict(type="str"),
    timeout=dict(type="int", default=120),
    switch_back=dict(type="bool", default=False),
    username=dict(type="str"),
    password=dict(type="str", no_log=True),
    validate_certs=dict(type="bool", default=True),
)
_WEBHOOK = dict(
    url=dict(type="str", required=True),
    headers=dict(type="dict"),
    body=dict(type="raw"),
    required=dict(type="bool", default=False),
    sent_from=dict(type="str", default="host", choices=["host", "controller"]),
    timeout=dict(type="int", default=10),
    validate_certs=dict(type="bool", default=True),
)
SPECS: dict[str, Spec] = {
    "checkpoint": dict(
        command=dict(COMMAND, required=True), restore=COMMAND, creates=dict(type="str"), timeout=_TIMEOUT
    ),
    "command": dict(drain=COMMAND, restore=COMMAND, creates=dict(type="str"), timeout=_TIMEOUT),
    "connections": dict(
        ports=dict(type="list", elements="int", required=True),
        at_most=dict(type="int", default=0),
        timeout=dict(type="int", default=60),
        on_timeout=dict(type="str", default="fail", choices=["fail", "continue"]),
    ),
    "failover": dict(
        command=COMMAND,
        restore_command=COMMAND,
        check=COMMAND,
        timeout=_TIMEOUT,
        patroni=dict(type="dict", options=_PATRONI),
    ),
    "kubernetes": dict(
        node=dict(type="str", required=True),
        kubeconfig=dict(type="str"),
        context=dict(type="str"),
        host=dict(type="str", default="localhost"),
        timeout=_TIMEOUT,
        force=dict(type="bool", default=False),
        delete_emptydir_data=dict(type="bool", default=False),
        terminate_grace_period=dict(type="int"),
        disable_eviction=dict(type="bool", default=False),
    ),
    "load_balancer": dict(
        haproxy=dict(type="dict", options=_HAPROXY),
        nginx=dict(type="dict", options=_NGINX),
        probe_file=dict(type="dict", options=_PROBE_FILE),
    ),
    "log": dict(
        message=dict(type="str", required=True),
        restore_message=dict(type="str"),
        tag=dict(type="str", default="azure-maintenance"),
        priority=dict(type="str", default="notice", choices=["debug", "info", "notice", "warning", "err"]),
        webhook=dict(type="dict", options=_WEBHOOK),
        timeout=dict(type="int", default=30),
    ),
    "services": dict(names=dict(type="list", elements="str", required=True), timeout=_TIMEOUT),
    "tasks": dict(drain=dict(type="str"), restore=dict(type="str")),
}
# Exactly one of these.
ONE_OF = {
    "load_balancer": ["haproxy", "nginx", "probe_file"],
    "failover": ["command", "patroni"],
}
# The kinds that are done on a Windows host as well, or which of those that are several -> the folder of their tasks.
ON_WINDOWS = {
    "checkpoint": "command",
    "command": "command",
    "connections": "connections",
    "failover": "failover",
    "log": "log",
    "probe_file": "probe_file",
    "services": "services",
}
# The steps whose work other tasks do, so that the role has to keep the journal for them.
DONE_BY_TASKS = ("kubernetes", "tasks")


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str
    arguments: Arguments


def fixed_waits(steps: Iterable[Step]) -> int:
    """Seconds that the steps are going to wait whatever happens."""
    return sum(step.arguments.get("probe_file", {}).get("wait", 0) for step in steps if step.kind == "load_balancer")


def place_of(step_kind: str, arguments: Mapping[str, t.Any], here: str) -> str | None:
    """The inventory host that does the work of a step of ours, where it is another than the one that is drained."""
    if step_kind != "load_balancer":
        return None
    inner: Arguments = next((arguments[name] for name in ONE_OF["load_balancer"] if name in arguments), {})
    host = inner.get("host")
    return None if host in (None, here) else str(host)


def webhook_of_the_controller(kind: str, arguments: Mapping[str, t.Any]) -> Arguments | None:
    """The webhook of a step `log` that is to be told from the controller and not from the host."""
    webhook = arguments.get("webhook") if kind == "log" else None
    return webhook if webhook and webhook.get("sent_from") == "controller" else None


def windows_half(kind: str, arguments: Mapping[str, t.Any]) -> str:
    """The folder of its tasks for Windows hosts. Raises ValueError with a sentence where there is none."""
    variant = next((name for name in ONE_OF.get(kind, ()) if name in arguments and name != "command"), "")
    if (variant or kind) in ON_WINDOWS:
        return ON_WINDOWS[variant or kind]
    raise ValueError(
        f"{kind}{': ' if variant else ''}{variant} can't be done on a Windows host. There the kinds are"
        " checkpoint, command, connections, failover by command, log, load_balancer with probe_file, services and"
        " tasks, and what is done on another machine"
    )


def looks_on_windows(half: str, arguments: Mapping[str, t.Any]) -> bool:
    """Whether such a step looks at the host before it begins: a call is saved where there is nothing to look at."""
    if half == "command":
        return "creates" in arguments
    return half in ("probe_file", "services") or (half == "failover" and "check" in arguments)


def leaves_nothing(kind: str, arguments: Mapping[str, t.Any]) -> bool:
    """Whether a step of ours has no half that undoes it."""
    if kind == "failover":
        return not (arguments.get("restore_command") or arguments.get("patroni", {}).get("switch_back"))
    half = {"log": "restore_message", "command": "restore", "checkpoint": "restore", "tasks": "restore"}.get(kind)
    return kind == "connections" or (half is not None and not arguments.get(half))


# A step is known again by its kind and by what it acts on, such as a server of a backend on a load balancer. Its
# timeout and its messages do not count.

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


def is_known_by_what_it_does(kind: str, arguments: Mapping[str, t.Any]) -> bool:
    """Whether it names a command or a file of tasks, and not what it acts on."""
    return kind in _FIRST_OF and not isinstance(arguments.get("patroni"), Mapping)


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
