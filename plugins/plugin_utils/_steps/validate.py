# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validation and resolution of drain steps."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.loader import module_loader
from ansible.utils.unsafe_proxy import wrap_var

from ...module_utils._steps import machine
from ...module_utils._steps.kind import A_COMMAND, KINDS, Kind, kind_of
from .._common import ansible
from . import work
from .kinds import (
    ONE_OF,
    SPECS,
    Arguments,
    Spec,
    Step,
    is_done_by_tasks,
    place_of,
    windows_half,
)

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
    command=A_COMMAND,
    port=dict(type="int"),
    host=dict(type="str", default="127.0.0.1"),
    service=dict(type="str"),
    timeout=dict(type="int", default=60),
    interval=dict(type="int", default=2),
)
_WORD = re.compile(r"[A-Za-z0-9_.:/][A-Za-z0-9_.:/-]*")


# The rest of the message may quote the value.
_QUOTED = re.compile(r"(unable to convert to \w+): .*", re.DOTALL)


class BadSteps(ValueError):
    """Raised for steps that can't be run, with a message for the user."""


def checked_steps(
    items: t.Any,
    own_kinds: Mapping[str, Spec | None],
    events: Iterable[Mapping[str, t.Any]] = (),
    on_windows: bool = False,
) -> list[Step]:
    """Return the steps with defaults. `own_kinds`: the user's kinds, with their arguments if known."""
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
    # A user's kind takes precedence over one of the collection.
    spec = own_kinds[kind] if kind in own_kinds else SPECS[kind]
    if spec is None:
        return Step(kind, dict(given))
    arguments = _checked_arguments(kind, spec, given)
    if kind not in own_kinds:
        _check_rules(kind, arguments, on_windows, events)
    return Step(kind, arguments)


def _checked_arguments(name: str, spec: Spec, given: Mapping[str, t.Any]) -> Arguments:
    result = ArgumentSpecValidator(spec).validate(dict(given))
    if result.error_messages:
        # The message for an unknown parameter is no more than its name and the known names.
        complaints = [
            f"there is no argument {error}" if isinstance(error, UnsupportedError) else _QUOTED.sub(r"\1", str(error))
            for error in result.errors
        ]
        raise BadSteps(f"{name}: {'; '.join(complaints)}")
    return _without_nothing(result.validated_parameters)


def _in_a_word(value: t.Any) -> str:
    """Return the type of a value, which may be a secret and is never quoted."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None:
        return "nothing"
    return "a text" if isinstance(value, str) else "a number"


def _without_nothing(arguments: Mapping[str, t.Any]) -> Arguments:
    """Leave out arguments that were not given, as people read the journal too."""
    return {
        name: _without_nothing(value) if isinstance(value, Mapping) else value
        for name, value in arguments.items()
        if value is not None
    }


def _check_rules(name: str, arguments: Arguments, on_windows: bool, events: Sequence[Mapping[str, t.Any]]) -> None:
    if name in ONE_OF and len([one for one in ONE_OF[name] if one in arguments]) != 1:
        raise BadSteps(f"{name} needs exactly one of {', '.join(ONE_OF[name])}")
    kind, own = t.cast(tuple[type[Kind], Arguments], kind_of(name, arguments))
    if kind.some_of and not any(option in own for option in kind.some_of):
        raise BadSteps(f"{name} needs at least one of {', '.join(kind.some_of)}")
    for option, value in own.items():
        if value == [] and kind.options[option].get("required"):
            raise BadSteps(f"{name}: {option} is empty")
    for timeout in (arguments.get("timeout"), own.get("timeout")):
        if timeout is not None and timeout <= 0:
            raise BadSteps(f"{name}: timeout must be at least 1 second, not {timeout}")
    for problem in kind.problems(own, on_windows):
        raise BadSteps(f"{name}: {problem}")
    for option in kind.commands:
        if option in own:
            check_command(f"{name}: {option}", own[option], events)


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
    """Return the texts from Azure that are more than one plain word."""
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
        if problem := machine.bad_health_name(check, on_windows):
            raise BadSteps(f"{name}: {problem}")
        if check["timeout"] <= 0 or check["interval"] <= 0:
            raise BadSteps(f"{name}: timeout and interval must be at least 1 second")
        checks.append(check)
    return checks


OURS = Path(__file__).resolve().parents[3] / "roles" / "steps" / "tasks"
HALVES = ("drain.yml", "restore.yml")


@dataclasses.dataclass(frozen=True)
class Folders:
    """Task files of all kinds of steps: those of the collection and of the user."""

    own: Mapping[str, Path]
    basedir: Path
    here: str
    on_windows: bool = False

    @classmethod
    def found(cls, steps_path: Iterable[str], basedir: str, here: str, on_windows: bool = False) -> Folders:
        """Find the user's kinds. `here`: the inventory host that is drained. Paths are relative to the playbook."""
        base = Path(basedir)
        own: dict[str, Path] = {}
        for directory in steps_path:
            path = base / Path(directory).expanduser()
            if not path.is_dir():
                raise BadSteps(f"drain_steps_path: there is no directory {path}")
            for folder in sorted(path.iterdir()):
                if any((folder / half).is_file() for half in HALVES):
                    own.setdefault(folder.name, folder)
        return cls(own, base, here, on_windows)

    def specs(self) -> dict[str, Spec | None]:
        """Map the user's kinds to their arguments from arguments.yml, or None without that file."""
        return {kind: _spec_in(folder / "arguments.yml") for kind, folder in self.own.items()}

    def placed_to_drain(self, kind: str, arguments: Mapping[str, t.Any]) -> dict[str, t.Any]:
        return self._placed("drain", kind, arguments)

    def placed_to_restore(self, kind: str, arguments: Mapping[str, t.Any]) -> dict[str, t.Any]:
        return self._placed("restore", kind, arguments)

    def _placed(self, half: str, kind: str, arguments: Mapping[str, t.Any]) -> dict[str, t.Any]:
        is_own = kind in self.own
        if not is_own and kind not in SPECS:
            raise BadSteps(
                f"The journal has a step {kind}, but there is no such kind here."
                " Name the directory that holds it in drain_steps_path"
            )
        if not is_own and not is_done_by_tasks(kind):
            elsewhere = place_of(kind, arguments, self.here)
            if self.on_windows and not elsewhere:
                return self._placed_on_windows(half, kind, arguments)
            name = "elsewhere.yml" if elsewhere else "on_the_host.yml"
            return {
                "file": str(OURS / half / name),
                "host": elsewhere,
                "by_tasks": elsewhere is not None,
                "own_kind": False,
                "from_record": str(OURS / "restore" / "from_record.yml") if elsewhere else None,
            }
        tasks = self._task_file(half, kind, arguments)
        looks = half == "drain" and (self._folder(kind) / "look.yml").is_file()
        record = OURS / kind / "restore_from_record.yml"
        is_elsewhere = not is_own and KINDS[kind].has_host
        return {
            "file": str(OURS / half / ("by_tasks_after_a_look.yml" if looks else "by_tasks.yml")),
            "host": str(arguments["host"]) if is_elsewhere else None,
            "by_tasks": True,
            "own_kind": is_own,
            "from_record": str(record) if is_elsewhere else None,
            "tasks": str(tasks),
            "look": str(self._folder(kind) / "look.yml"),
        }

    def _placed_on_windows(self, half: str, kind: str, arguments: Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the tasks of a step that a Linux host would do by itself."""
        try:
            name, has_look = windows_half(kind, arguments)
        except ValueError as error:
            raise BadSteps(str(error)) from None
        folder = OURS / "windows" / name
        looks = half == "drain" and has_look
        return {
            "file": str(OURS / half / ("by_tasks_after_a_look.yml" if looks else "by_tasks.yml")),
            "host": None,
            "by_tasks": True,
            "own_kind": False,
            "on_windows": True,
            "from_record": None,
            "tasks": str(folder / f"{half}.yml"),
            "look": str(folder / "look.yml"),
        }

    def health_on_windows(self, check: Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the tasks of a health check on a Windows host."""
        kind = next(name for name in ("uri", "command", "port", "service") if name in check)
        return {
            "file": str(OURS / "restore" / "health_on_windows.yml"),
            "tasks": str(OURS / "windows" / "health" / f"{kind}.yml"),
        }

    def _folder(self, kind: str) -> Path:
        return self.own.get(kind, OURS / kind)

    def _task_file(self, half: str, kind: str, arguments: Mapping[str, t.Any]) -> Path:
        if kind == "tasks" and kind not in self.own and half in arguments:
            path = self.basedir / Path(str(arguments[half])).expanduser()
        else:
            path = self._folder(kind) / f"{half}.yml"
        if not path.is_file():
            raise BadSteps(f"{kind}: there is no file {path} on the controller")
        return path


def _spec_in(path: Path) -> Spec | None:
    if not path.is_file():
        return None
    try:
        spec = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise BadSteps(f"{path} can't be read: {error}") from None
    if spec is not None and not isinstance(spec, dict):
        raise BadSteps(f"{path} must hold the arguments of the kind by name")
    return spec or {}


def check_needs(steps: Sequence[Step], folders: Folders) -> None:
    """Raise BadSteps if a collection that a step needs is missing."""
    for step in steps:
        kind, _own = kind_of(step.kind, step.arguments)
        if kind and kind.module and step.kind not in folders.own:
            _check_for(kind.module, f"A step {step.kind} needs the collection {kind.module.rpartition('.')[0]}")


def check_needs_on_windows(steps: Iterable[Step], folders: Folders, has_health: bool) -> None:
    placed = [folders.placed_to_drain(step.kind, step.arguments) for step in steps]
    if any(place.get("on_windows") for place in placed):
        check_for_windows_modules("drain_steps")
    if has_health:
        check_for_windows_modules("restore_health")


def check_for_windows_modules(needed_by: str) -> None:
    _check_for("ansible.windows.win_powershell", f"On a Windows host {needed_by} need the collection ansible.windows")


def _check_for(module: str, needed: str) -> None:
    if not module_loader.find_plugin(module):
        collection = module.rpartition(".")[0]
        raise BadSteps(f"{needed} on the controller: ansible-galaxy collection install {collection}")


def resolved_steps(templar: t.Any, task_vars: Mapping[str, t.Any], event: Mapping[str, t.Any] | None) -> t.Any:
    """Return the steps as plain data, not validated. Texts of the event are data; None takes it from the variables.

    Raise BadSteps if a template fails.
    """
    variables = task_vars if event is None else {**task_vars, "maintenance_event": wrap_var({**work.NO_EVENT, **event})}
    try:
        items = templar.copy_with_new_env(available_variables=variables).template(task_vars.get("drain_steps", []))
    except AnsibleError as error:
        raise BadSteps(f"drain_steps can't be resolved: {error}") from None
    return ansible.plain(items)
