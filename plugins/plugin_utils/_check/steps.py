# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about drain steps, and about their needs on hosts and on the controller."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import re
import shlex
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.action import ActionBase
from ansible.plugins.loader import action_loader, module_loader
from ansible.utils.unsafe_proxy import wrap_var

from ...module_utils._steps.kind import COMMAND, MACHINE, PATH, UNIT, Kind, kind_of
from .._common import ansible, text
from .._host.windows import is_windows
from .._steps import validate
from .._steps.kinds import Arguments, Step, place_of
from .._steps.validate import BadSteps
from . import report
from .rehearsal import reboot_of
from .report import Finding

# An assignment as in a shell; steps run without one.
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*=).+", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Need:
    # Such as "step 2 (services)".
    step: str
    # The inventory host that must have it; empty for the host itself.
    machine: str
    kind: str
    name: str
    # The required type of a path.
    wanted: str = ""
    # True if a file on that machine records what is done there.
    is_recorded: bool = True

    def as_data(self) -> dict[str, t.Any]:
        return dataclasses.asdict(self)


def needs_of(steps: Sequence[Step], own_kinds: Iterable[str], here: str) -> list[Need]:
    own = set(own_kinds)
    return [
        need
        for number, step in enumerate(steps, start=1)
        if step.kind not in own
        for need in _of_step(f"step {number} ({step.kind})", step, here)
    ]


def _of_step(called: str, step: Step, here: str) -> t.Iterator[Need]:
    kind, own = t.cast(tuple[type[Kind], Arguments], kind_of(step.kind, step.arguments))
    machine = str(own["host"]) if kind.by_tasks and kind.has_host else place_of(step.kind, step.arguments, here) or ""
    for what, name, wanted in kind.needs(own):
        found = first_word(name) if what == COMMAND else str(name)
        # Tasks record their work elsewhere.
        yield Need(called, machine, what, found, wanted, is_recorded=not kind.by_tasks)


def nodes_of(steps: Sequence[Step], own_kinds: Iterable[str]) -> list[dict[str, t.Any]]:
    """Return the cluster nodes that steps drain. An annotation of a node records its owner."""
    own = set(own_kinds)
    return [
        {
            "machine": str(step.arguments["host"]),
            **{name: step.arguments.get(name) for name in ("node", "kubeconfig", "context")},
        }
        for step in steps
        if step.kind == "kubernetes" and step.kind not in own
    ]


def first_word(command: t.Any) -> str:
    """Return the program of a command, without its arguments, which may be secret."""
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    return _ASSIGNMENT.sub(r"\1...", words[0]) if words else ""


def request_for(needs: Iterable[Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """Build the request to the host half for what steps need."""
    by_kind: dict[str, dict[str, None]] = {UNIT: {}, PATH: {}, COMMAND: {}, MACHINE: {}}
    for need in needs:
        by_kind[need["kind"]][need["name"]] = None
    return {"units": list(by_kind[UNIT]), "paths": list(by_kind[PATH]), "commands": list(by_kind[COMMAND])}


def about_needs(needs: Iterable[Mapping[str, t.Any]], look: Mapping[str, t.Any], where: str) -> list[Finding]:
    return [_about_need(need, look, where) for need in needs if need["kind"] != MACHINE]


def _about_need(need: Mapping[str, t.Any], look: Mapping[str, t.Any], where: str) -> Finding:
    kind, name = need["kind"], need["name"]
    point = f"{need['step']}: {kind} {name}"
    if kind == UNIT:
        state = look["units"].get(name, "not looked at")
        if state == "loaded":
            return report.good("plan", point, "there")
        if state in ("not-found", "masked", "bad-setting", "error"):
            return report.bad(
                "plan", point, f"{state} on {where}", "Install it there, or correct the name in drain_steps"
            )
        return report.doubtful(
            "plan", point, f"not known on {where}: {state}", "systemctl must be there for a step services"
        )
    if kind == PATH:
        state = look["paths"].get(name, "not looked at")
        if state == need["wanted"]:
            return report.good("plan", point, f"there, a {state}")
        do = "Correct the path in drain_steps, or start what makes it"
        return report.bad("plan", point, f"{state} on {where}, where a {need['wanted']} is due", do)
    if look["commands"].get(name):
        return report.good("plan", point, "there")
    if _ASSIGNMENT.fullmatch(name):
        do = "No shell sees the command: begin it with env"
        return report.bad("plan", point, f"no program, and looked for as one on {where}", do)
    return report.bad("plan", point, f"missing on {where}", "Install it there, or correct the command in drain_steps")


def about_modules(missing: Sequence[str], unknown: Sequence[str]) -> Finding:
    """Judge the collections of steps. `missing` are modules and roles; `unknown` are files that could not be read."""
    point = "collections of the steps"
    if not missing and unknown:
        do = "See that these files are there on the controller when the steps run, and what they use"
        return report.doubtful(
            "plan", point, f"all there as far as it was looked at, without {text.some_of(list(unknown))}", do
        )
    if not missing:
        return report.good("plan", point, "all there")
    collections = sorted({".".join(name.split(".")[:2]) for name in missing})
    do = f"On the controller: ansible-galaxy collection install {' '.join(collections)}"
    return report.bad("plan", point, f"there is no {text.in_words(list(missing))}", do)


_FULL_NAME = re.compile(r"[a-z_]\w*\.[a-z_]\w*(\.[a-z_]\w*)+")
_INCLUDED = re.compile(r"(ansible\.(builtin|legacy)\.)?(include|import)_(?P<what>tasks|role)")


class Used(t.NamedTuple):
    """Modules and roles by their full names, and files as written in YAML, where they may be templates."""

    modules: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()

    def and_also(self, other: Used) -> Used:
        return Used(self.modules | other.modules, self.files | other.files, self.roles | other.roles)


def used_by(tasks: t.Any) -> Used:
    found = Used()
    for task in tasks if isinstance(tasks, (list, tuple)) else []:
        for key, value in task.items() if isinstance(task, Mapping) else ():
            found = found.and_also(_by_key(str(key), value))
    return found


def _by_key(key: str, value: t.Any) -> Used:
    if key in ("block", "rescue", "always"):
        return used_by(value)
    if included := _INCLUDED.fullmatch(key):
        if included["what"] == "tasks":
            name = value.get("file") if isinstance(value, Mapping) else value
            # No copy: since ansible-core 2.19 the object carries the mark that it may be a template.
            return Used(files=frozenset([name] if isinstance(name, str) else []))
        name = value.get("name") if isinstance(value, Mapping) else value
        return Used(roles=_full_names(name))
    if key in ("action", "local_action"):
        name = value.get("module") if isinstance(value, Mapping) else str(value).split(" ", 1)[0]
        return Used(modules=_full_names(name))
    return Used(modules=_full_names(key))


def _full_names(name: t.Any) -> frozenset[str]:
    return frozenset([str(name)] if _FULL_NAME.fullmatch(str(name)) else [])


@dataclasses.dataclass
class Looked:
    """Missing modules and roles, and descriptions of the files that could not be found."""

    missing: set[str] = dataclasses.field(default_factory=set)
    unknown: list[str] = dataclasses.field(default_factory=list)


def look_into(
    files: Iterable[Path], folders: Iterable[Path], load: Callable[[str], t.Any], resolve: Callable[[str], t.Any]
) -> Looked:
    """Find the modules and roles that task files use and the controller lacks. Raises BadSteps.

    `folders` may hold included files that are not beside the file that includes them. `load` reads a file of tasks,
    `resolve` a name that may be a template; both may raise AnsibleError.
    """
    looked, to_do, seen = Looked(), list(files), set[Path]()
    while to_do:
        file = to_do.pop()
        if file in seen:
            continue
        seen.add(file)
        try:
            used = used_by(load(str(file)))
        except (AnsibleError, OSError, ValueError) as error:
            raise BadSteps(f"{file} can't be read: {error}") from None
        looked.missing |= {name for name in used.modules if not _has_module(name)}
        looked.missing |= {name for name in used.roles if not _has_collection(name)}
        for name in sorted(used.files):
            found = _found(name, [file.parent, *folders], resolve)
            if found is None:
                looked.unknown.append(f"{name} in {file.name}")
            else:
                to_do.append(found)
    return looked


def _found(name: str, folders: Iterable[Path], resolve: Callable[[str], t.Any]) -> Path | None:
    try:
        path = Path(str(resolve(name)))
    except AnsibleError:
        # Such as a name with the item of a loop.
        return None
    return next((folder / path for folder in folders if (folder / path).is_file()), None)


def _has_module(name: str) -> bool:
    return bool(action_loader.has_plugin(name) or module_loader.find_plugin(name))


def _has_collection(role: str) -> bool:
    namespace, collection, _rest = role.split(".", 2)
    try:
        return importlib.util.find_spec(f"ansible_collections.{namespace}.{collection}") is not None
    except ModuleNotFoundError:
        return False


# Since ansible-core 2.19 a file is marked as trusted when it is read.
_MAY_BE_TEMPLATES: dict[str, t.Any] = (
    {"trusted_as_template": True}
    if "trusted_as_template" in inspect.signature(DataLoader.load_from_file).parameters
    else {}
)
DOCS = "docs/drain-steps.md has the kinds and their arguments"


class StepsSeen(t.NamedTuple):
    findings: list[Finding]
    needs: list[Need]
    # Cluster nodes that are drained, if the controller can query them.
    nodes: list[dict[str, t.Any]]


def steps_of_host(action: ActionBase, task_vars: dict[str, t.Any], steps_path: list[str], not_before: str) -> StepsSeen:
    host = str(task_vars["inventory_hostname"])
    point = "drain steps"
    try:
        windows = is_windows(action)
        folders = validate.Folders.found(steps_path, action._loader.get_basedir(), host, windows)
        items = _resolved(action, task_vars, "drain_steps", not_before)
        steps = validate.checked_steps(items, folders.specs(), on_windows=windows)
        health = validate.checked_health(_resolved(action, task_vars, "restore_health", not_before), windows)
        looked = look_into(
            _task_files(folders, steps, health if windows else ()),
            (validate.OURS, folders.basedir),
            functools.partial(action._loader.load_from_file, **_MAY_BE_TEMPLATES),
            action._templar.copy_with_new_env(
                available_variables={**task_vars, "role_path": str(validate.OURS.parent)}
            ).template,
        )
    except BadSteps as error:
        return StepsSeen([report.bad("plan", point, str(error), DOCS)], [], [])
    if not steps:
        do = "Nothing is drained before an event is approved: set drain_steps if something runs on this host"
        return StepsSeen([report.doubtful("plan", point, "none", do)], [], [])
    kinds = ", ".join(step.kind for step in steps)
    found = [report.good("plan", point, f"{len(steps)}: {kinds}")]
    found.append(about_modules(sorted(looked.missing), looked.unknown))
    nodes = [] if any(name.startswith("kubernetes.core.") for name in looked.missing) else nodes_of(steps, folders.own)
    return StepsSeen(found, needs_of(steps, folders.own, host), nodes)


def _resolved(action: ActionBase, task_vars: dict[str, t.Any], name: str, not_before: str) -> t.Any:
    event = reboot_of("", str(task_vars.get("maintenance_vm_name") or task_vars["inventory_hostname"]), not_before)
    variables = {**task_vars, "maintenance_event": wrap_var(event)}
    try:
        return ansible.plain(
            action._templar.copy_with_new_env(available_variables=variables).template(task_vars.get(name, []))
        )
    except AnsibleError as error:
        raise BadSteps(f"{name} can't be resolved: {error}") from None


def _task_files(folders: validate.Folders, steps: Iterable[Step], health_on_windows: Iterable[Arguments]) -> set[Path]:
    """Return the task files of the steps and health checks that the host does not do by itself."""
    placed = [folders.health_on_windows(check) for check in health_on_windows]
    for step in steps:
        placed.append(folders.placed_to_drain(step.kind, step.arguments))
        placed.append(folders.placed_to_restore(step.kind, step.arguments))
    files = {Path(one[key]) for one in placed for key in ("tasks", "look") if one.get(key)}
    return {file for file in files if file.is_file()}
