# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the drain steps of a host need, and on which machine: units, files, commands, collections. Pure."""

from __future__ import annotations

import dataclasses
import posixpath
import re
import shlex
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import Step, place_of

# MACHINE: nothing to look for there, but somewhere to get to.
UNIT, PATH, COMMAND, MACHINE = "unit", "path", "command", "machine"
_COMMANDS = {
    "checkpoint": ("command", "restore"),
    "command": ("drain", "restore"),
    "failover": ("command", "restore_command", "check"),
}
# As a shell has it; there is no shell here.
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*=).+", re.DOTALL)


@dataclasses.dataclass(frozen=True)
class Need:
    # Such as "step 2 (services)".
    step: str
    # The inventory host where it has to be; nothing for the host itself.
    machine: str
    kind: str
    name: str
    # For a path: what it has to be.
    wanted: str = ""
    # Whether what is done there is recorded in a file of that machine.
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
    arguments = step.arguments
    machine = place_of(step.kind, arguments, here) or ""
    for name in arguments.get("names", ()) if step.kind == "services" else ():
        yield Need(called, machine, UNIT, str(name))
    for name in _COMMANDS.get(step.kind, ()):
        if name in arguments:
            yield Need(called, machine, COMMAND, first_word(arguments[name]))
    if step.kind == "load_balancer":
        if "haproxy" in arguments:
            yield Need(called, machine, PATH, str(arguments["haproxy"]["socket"]), "socket")
        if "nginx" in arguments:
            yield Need(called, machine, PATH, str(arguments["nginx"]["upstream_file"]), "file")
            for name in ("test_command", "reload_command"):
                yield Need(called, machine, COMMAND, first_word(arguments["nginx"][name]))
        if "probe_file" in arguments:
            yield Need(called, machine, PATH, posixpath.dirname(str(arguments["probe_file"]["path"])), "folder")
    if step.kind == "kubernetes":
        machine = str(arguments["host"])
        if arguments.get("kubeconfig"):
            yield Need(called, machine, PATH, str(arguments["kubeconfig"]), "file", is_recorded=False)
        else:
            yield Need(called, machine, MACHINE, machine, is_recorded=False)


def nodes_of(steps: Sequence[Step], own_kinds: Iterable[str]) -> list[dict[str, t.Any]]:
    """The nodes of clusters that steps drain: whoever has one is recorded in an annotation of it."""
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
    """The program. What it is given may be secret, and is nobody's business here."""
    words = shlex.split(command) if isinstance(command, str) else [str(word) for word in command]
    return _ASSIGNMENT.sub(r"\1...", words[0]) if words else ""


def request_for(needs: Iterable[Mapping[str, t.Any]]) -> dict[str, list[str]]:
    """What the host half is asked to look for."""
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
            return good("plan", point, "there")
        if state in ("not-found", "masked", "bad-setting", "error"):
            return bad("plan", point, f"{state} on {where}", "Install it there, or correct the name in drain_steps")
        return doubtful("plan", point, f"not known on {where}: {state}", "systemctl must be there for a step services")
    if kind == PATH:
        state = look["paths"].get(name, "not looked at")
        if state == need["wanted"]:
            return good("plan", point, f"there, a {state}")
        do = "Correct the path in drain_steps, or start what makes it"
        return bad("plan", point, f"{state} on {where}, where a {need['wanted']} is due", do)
    if look["commands"].get(name):
        return good("plan", point, "there")
    if _ASSIGNMENT.fullmatch(name):
        do = "No shell sees the command: begin it with env"
        return bad("plan", point, f"no program, and looked for as one on {where}", do)
    return bad("plan", point, f"missing on {where}", "Install it there, or correct the command in drain_steps")


def about_modules(missing: Sequence[str], unknown: Sequence[str]) -> Finding:
    """`missing`: modules and roles that are not on the controller. `unknown`: files that could not be looked into."""
    point = "collections of the steps"
    if not missing and unknown:
        do = "See that these files are there on the controller when the steps run, and what they use"
        return doubtful("plan", point, f"all there as far as it was looked at, without {some_of(list(unknown))}", do)
    if not missing:
        return good("plan", point, "all there")
    collections = sorted({".".join(name.split(".")[:2]) for name in missing})
    do = f"On the controller: ansible-galaxy collection install {' '.join(collections)}"
    return bad("plan", point, f"there is no {in_words(list(missing))}", do)
