# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a list of drain steps, or of checks of health, is right; and what is not given is filled in."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import bad_health_name, bad_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import (
    COMMAND,
    ONE_OF,
    SPECS,
    Arguments,
    Spec,
    Step,
)

# At least one of these.
_SOME_OF = {"command": ["drain", "restore"], "tasks": ["drain", "restore"]}
# Where commands are, in arguments that are checked already.
_COMMANDS = {
    "checkpoint": ["command", "restore"],
    "command": ["drain", "restore"],
    "failover": ["command", "restore_command", "check"],
}

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
    command=COMMAND,
    port=dict(type="int"),
    host=dict(type="str", default="127.0.0.1"),
    service=dict(type="str"),
    timeout=dict(type="int", default=60),
    interval=dict(type="int", default=2),
)
_WORD = re.compile(r"[A-Za-z0-9_.:/][A-Za-z0-9_.:/-]*")


# What comes after it may quote what was given.
_QUOTED = re.compile(r"(unable to convert to \w+): .*", re.DOTALL)


class BadSteps(ValueError):
    """The steps can't be run. The text is for the user."""


def checked_steps(
    items: t.Any,
    own_kinds: Mapping[str, Spec | None],
    events: Iterable[Mapping[str, t.Any]] = (),
    on_windows: bool = False,
) -> list[Step]:
    """The steps with their defaults filled in. `own_kinds`: the user's, with the arguments that they take if known."""
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise BadSteps(f"drain_steps must be a list of steps, not {type(items).__name__}")
    events = list(events)
    steps = []
    for number, item in enumerate(items, 1):
        try:
            steps.append(_checked_step(item, own_kinds, events, on_windows))
        except BadSteps as error:
            raise BadSteps(f"drain_steps, step {number}: {error}") from None
    return steps


def _checked_step(
    item: t.Any, own_kinds: Mapping[str, Spec | None], events: Sequence[Mapping[str, t.Any]], on_windows: bool
) -> Step:
    if not isinstance(item, Mapping) or len(item) != 1:
        seen = f"the keys {', '.join(map(str, item))}" if isinstance(item, Mapping) else _in_a_word(item)
        raise BadSteps(
            f"a step is one key, its kind, with its arguments, such as `services: {{names: [nginx]}}`, not {seen}"
        )
    kind, given = next(iter(item.items()))
    if kind not in own_kinds and kind not in SPECS:
        raise BadSteps(f"there is no kind {kind}. The kinds are {', '.join(sorted({*SPECS, *own_kinds}))}")
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise BadSteps(f"{kind} takes arguments by name, not {_in_a_word(given)}")
    # A kind of the user's own goes before ours of the same name.
    spec = own_kinds[kind] if kind in own_kinds else SPECS[kind]
    if spec is None:
        return Step(kind, dict(given))
    arguments = _checked_arguments(kind, spec, given)
    if kind not in own_kinds:
        _check_rules(kind, arguments, on_windows)
        _check_commands(kind, arguments, events)
    return Step(kind, arguments)


def _checked_arguments(name: str, spec: Spec, given: Mapping[str, t.Any]) -> Arguments:
    result = ArgumentSpecValidator(spec).validate(dict(given))
    if result.error_messages:
        # Of a parameter that is not known the message is no more than its name and the names of those that are.
        complaints = [
            f"there is no argument {error}" if isinstance(error, UnsupportedError) else _QUOTED.sub(r"\1", str(error))
            for error in result.errors
        ]
        raise BadSteps(f"{name}: {'; '.join(complaints)}")
    return _without_nothing(result.validated_parameters)


def _in_a_word(value: t.Any) -> str:
    """What was given is not quoted: it may be the value of a variable, and a secret."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    return "a text" if isinstance(value, str) else "a number"


def _without_nothing(arguments: Mapping[str, t.Any]) -> Arguments:
    """What was not given is left out: the journal is read by people too."""
    return {
        name: _without_nothing(value) if isinstance(value, Mapping) else value
        for name, value in arguments.items()
        if value is not None
    }


def _check_rules(kind: str, arguments: Arguments, on_windows: bool) -> None:
    if kind in ONE_OF:
        given = [name for name in ONE_OF[kind] if name in arguments]
        if len(given) != 1:
            raise BadSteps(f"{kind} needs exactly one of {', '.join(ONE_OF[kind])}")
    if kind in _SOME_OF and not any(name in arguments for name in _SOME_OF[kind]):
        raise BadSteps(f"{kind} needs at least one of {', '.join(_SOME_OF[kind])}")
    for name in ("ports", "names"):
        if name in arguments and not arguments[name]:
            raise BadSteps(f"{kind}: {name} is empty")
    inner: Arguments = next(
        (arguments[name] for name in ONE_OF.get(kind, ()) if isinstance(arguments.get(name), dict)), {}
    )
    for timeout in (arguments.get("timeout"), inner.get("timeout")):
        if timeout is not None and timeout <= 0:
            raise BadSteps(f"{kind}: timeout must be at least 1 second, not {timeout}")
    problem = bad_name(kind, arguments, on_windows)
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
        raise BadSteps(f"{name} must be a command line or a list of words, not {_in_a_word(command)}")


def _texts_of(events: Iterable[Mapping[str, t.Any]]) -> set[str]:
    """What Azure sent that is more than one plain word."""
    texts = {value for event in events for value in event.values() if isinstance(value, str)}
    texts |= {str(name) for event in events for name in event.get("resources") or ()}
    return {text for text in texts if text.strip() and not _WORD.fullmatch(text)}


def checked_health(items: t.Any, on_windows: bool = False) -> list[Arguments]:
    if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
        raise BadSteps(f"restore_health must be a list of checks, not {type(items).__name__}")
    checks = []
    for number, item in enumerate(items, 1):
        name = f"restore_health, check {number}"
        if not isinstance(item, Mapping):
            raise BadSteps(
                f"{name}: expected one of uri, command, port, service with its arguments, not {_in_a_word(item)}"
            )
        check = _checked_arguments(name, _HEALTH_SPEC, item)
        kinds = [kind for kind in ("uri", "command", "port", "service") if kind in check]
        if len(kinds) != 1:
            raise BadSteps(f"{name}: needs exactly one of uri, command, port, service")
        if "command" in check:
            check_command(f"{name}: command", check["command"])
        if problem := bad_health_name(check, on_windows):
            raise BadSteps(f"{name}: {problem}")
        if check["timeout"] <= 0 or check["interval"] <= 0:
            raise BadSteps(f"{name}: timeout and interval must be at least 1 second")
        checks.append(check)
    return checks
