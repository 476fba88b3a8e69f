# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kinds of drain steps there are, which arguments they take, and whether a list of steps is right."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.names import bad_health_name, bad_name

Arguments: t.TypeAlias = dict[str, t.Any]
Spec: t.TypeAlias = dict[str, t.Any]

_TIMEOUT = dict(type="int", default=300)
# A command is a line that is split into words, or a list of words. No shell sees it.
_COMMAND = dict(type="raw")

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
        command=dict(_COMMAND, required=True), restore=_COMMAND, creates=dict(type="str"), timeout=_TIMEOUT
    ),
    "command": dict(drain=_COMMAND, restore=_COMMAND, creates=dict(type="str"), timeout=_TIMEOUT),
    "connections": dict(
        ports=dict(type="list", elements="int", required=True),
        at_most=dict(type="int", default=0),
        timeout=dict(type="int", default=60),
        on_timeout=dict(type="str", default="fail", choices=["fail", "continue"]),
    ),
    "failover": dict(
        command=_COMMAND,
        restore_command=_COMMAND,
        check=_COMMAND,
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
# Exactly one of these, or at least one of those.
_ONE_OF = {
    "load_balancer": ["haproxy", "nginx", "probe_file"],
    "failover": ["command", "patroni"],
}
_SOME_OF = {"command": ["drain", "restore"], "tasks": ["drain", "restore"]}
# Where commands are, in arguments that are checked already.
_COMMANDS = {
    "checkpoint": ["command", "restore"],
    "command": ["drain", "restore"],
    "failover": ["command", "restore_command", "check"],
}
# The steps whose work other tasks do, so that the role has to keep the journal for them.
DONE_BY_TASKS = ("kubernetes", "tasks")

_HEALTH_SPEC: Spec = dict(
    uri=dict(
        type="dict",
        options=dict(
            url=dict(type="str", required=True),
            method=dict(type="str", default="GET"),
            headers=dict(type="dict"),
            body=dict(type="raw"),
            status_code=dict(type="list", elements="int", default=[200]),
            contains=dict(type="str"),
            validate_certs=dict(type="bool", default=True),
        ),
    ),
    command=_COMMAND,
    port=dict(type="int"),
    host=dict(type="str", default="127.0.0.1"),
    service=dict(type="str"),
    timeout=dict(type="int", default=60),
    interval=dict(type="int", default=2),
)
_WORD = re.compile(r"[A-Za-z0-9_.:/][A-Za-z0-9_.:/-]*")


class BadSteps(ValueError):
    """The steps can't be run. The text is for the user."""


@dataclasses.dataclass(frozen=True)
class Step:
    kind: str
    arguments: Arguments


def checked_steps(
    items: t.Any, own_kinds: Mapping[str, Spec | None], events: Iterable[Mapping[str, t.Any]] = ()
) -> list[Step]:
    """The steps with their defaults filled in. `own_kinds`: the user's, with the arguments that they take if known."""
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise BadSteps(f"drain_steps must be a list of steps, not {type(items).__name__}")
    events = list(events)
    steps = []
    for number, item in enumerate(items, 1):
        try:
            steps.append(_checked_step(item, own_kinds, events))
        except BadSteps as error:
            raise BadSteps(f"drain_steps, step {number}: {error}") from None
    return steps


def _checked_step(item: t.Any, own_kinds: Mapping[str, Spec | None], events: Sequence[Mapping[str, t.Any]]) -> Step:
    if not isinstance(item, Mapping) or len(item) != 1:
        seen = f"the keys {', '.join(map(str, item))}" if isinstance(item, Mapping) else repr(item)[:80]
        raise BadSteps(
            f"a step is one key, its kind, with its arguments, such as `services: {{names: [nginx]}}`, not {seen}"
        )
    kind, given = next(iter(item.items()))
    if kind not in own_kinds and kind not in SPECS:
        raise BadSteps(f"there is no kind {kind}. The kinds are {', '.join(sorted({*SPECS, *own_kinds}))}")
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise BadSteps(f"{kind} takes arguments by name, not {given!r:.80}")
    # A kind of the user's own goes before ours of the same name.
    spec = own_kinds[kind] if kind in own_kinds else SPECS[kind]
    if spec is None:
        return Step(kind, dict(given))
    arguments = _checked_arguments(kind, spec, given)
    if kind not in own_kinds:
        _check_rules(kind, arguments)
        _check_commands(kind, arguments, events)
    return Step(kind, arguments)


def _checked_arguments(name: str, spec: Spec, given: Mapping[str, t.Any]) -> Arguments:
    result = ArgumentSpecValidator(spec).validate(dict(given))
    if result.error_messages:
        # Of a parameter that is not known the message is no more than its name and the names of those that are.
        complaints = [
            f"there is no argument {error}" if isinstance(error, UnsupportedError) else str(error)
            for error in result.errors
        ]
        raise BadSteps(f"{name}: {'; '.join(complaints)}")
    return _without_nothing(result.validated_parameters)


def _without_nothing(arguments: Mapping[str, t.Any]) -> Arguments:
    """What was not given is left out: the journal is read by people too."""
    return {
        name: _without_nothing(value) if isinstance(value, Mapping) else value
        for name, value in arguments.items()
        if value is not None
    }


def _check_rules(kind: str, arguments: Arguments) -> None:
    if kind in _ONE_OF:
        given = [name for name in _ONE_OF[kind] if name in arguments]
        if len(given) != 1:
            raise BadSteps(f"{kind} needs exactly one of {', '.join(_ONE_OF[kind])}")
    if kind in _SOME_OF and not any(name in arguments for name in _SOME_OF[kind]):
        raise BadSteps(f"{kind} needs at least one of {', '.join(_SOME_OF[kind])}")
    for name in ("ports", "names"):
        if name in arguments and not arguments[name]:
            raise BadSteps(f"{kind}: {name} is empty")
    inner: Arguments = next(
        (arguments[name] for name in _ONE_OF.get(kind, ()) if isinstance(arguments.get(name), dict)), {}
    )
    for timeout in (arguments.get("timeout"), inner.get("timeout")):
        if timeout is not None and timeout <= 0:
            raise BadSteps(f"{kind}: timeout must be at least 1 second, not {timeout}")
    problem = bad_name(kind, arguments)
    if problem:
        raise BadSteps(f"{kind}: {problem}")


def _check_commands(kind: str, arguments: Arguments, events: Sequence[Mapping[str, t.Any]]) -> None:
    commands = [(name, arguments[name]) for name in _COMMANDS.get(kind, ()) if name in arguments]
    if "nginx" in arguments:
        commands += [(name, arguments["nginx"][name]) for name in ("test_command", "reload_command")]
    for name, command in commands:
        check_command(f"{kind}: {name}", command, events)


def check_command(name: str, command: t.Any, events: Sequence[Mapping[str, t.Any]] = ()) -> None:
    if isinstance(command, str):
        if not command.strip():
            raise BadSteps(f"{name} is empty")
        for text in _texts_of(events):
            if text in command:
                raise BadSteps(
                    f"{name} holds a text that comes from Azure, {text[:60]!r}, which could be taken for several words."
                    " Give the command as a list, with that text as one item of it"
                )
    elif not (
        isinstance(command, Sequence) and command and all(isinstance(word, (str, int, float)) for word in command)
    ):
        raise BadSteps(f"{name} must be a command line or a list of words, not {command!r:.80}")


def _texts_of(events: Iterable[Mapping[str, t.Any]]) -> set[str]:
    """What Azure sent that is more than one plain word."""
    texts = {value for event in events for value in event.values() if isinstance(value, str)}
    texts |= {str(name) for event in events for name in event.get("resources") or ()}
    return {text for text in texts if text.strip() and not _WORD.fullmatch(text)}


def checked_health(items: t.Any) -> list[Arguments]:
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise BadSteps(f"restore_health must be a list of checks, not {type(items).__name__}")
    checks = []
    for number, item in enumerate(items, 1):
        name = f"restore_health, check {number}"
        if not isinstance(item, Mapping):
            raise BadSteps(f"{name}: expected one of uri, command, port, service with its arguments, not {item!r:.80}")
        check = _checked_arguments(name, _HEALTH_SPEC, item)
        kinds = [kind for kind in ("uri", "command", "port", "service") if kind in check]
        if len(kinds) != 1:
            raise BadSteps(f"{name}: needs exactly one of uri, command, port, service")
        if "command" in check:
            check_command(f"{name}: command", check["command"])
        if problem := bad_health_name(check):
            raise BadSteps(f"{name}: {problem}")
        if check["timeout"] <= 0 or check["interval"] <= 0:
            raise BadSteps(f"{name}: timeout and interval must be at least 1 second")
        checks.append(check)
    return checks


def fixed_waits(steps: Iterable[Step]) -> int:
    """Seconds that the steps are going to wait whatever happens."""
    return sum(step.arguments.get("probe_file", {}).get("wait", 0) for step in steps if step.kind == "load_balancer")


def place_of(step_kind: str, arguments: Mapping[str, t.Any], here: str) -> str | None:
    """The inventory host that does the work of a step of ours, where it is another than the one that is drained."""
    if step_kind != "load_balancer":
        return None
    inner: Arguments = next((arguments[name] for name in _ONE_OF["load_balancer"] if name in arguments), {})
    host = inner.get("host")
    return None if host in (None, here) else str(host)


def webhook_of_the_controller(kind: str, arguments: Mapping[str, t.Any]) -> Arguments | None:
    """The webhook of a step `log` that is to be told from the controller and not from the host."""
    webhook = arguments.get("webhook") if kind == "log" else None
    return webhook if webhook and webhook.get("sent_from") == "controller" else None


def leaves_nothing(kind: str, arguments: Mapping[str, t.Any]) -> bool:
    """Whether a step of ours has no half that undoes it."""
    if kind == "failover":
        return not (arguments.get("restore_command") or arguments.get("patroni", {}).get("switch_back"))
    half = {"log": "restore_message", "command": "restore", "checkpoint": "restore", "tasks": "restore"}.get(kind)
    return kind == "connections" or (half is not None and not arguments.get(half))
