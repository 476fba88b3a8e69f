# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds of drain steps there are, which arguments they take, and what is known of a step by these. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping

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
