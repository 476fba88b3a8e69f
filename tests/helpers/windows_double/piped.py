# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Ansible pipes to PowerShell, taken apart: which module, with which arguments, and for how long.

That form is an internal of ansible-core. No other file knows it.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Piped:
    """A module that a host is to run. `job` is the id of what is to go on alone, for at most `seconds`."""

    module: str
    arguments: dict[str, Any]
    check_mode: bool
    job: str = ""
    seconds: float = 0


class NotPiped(ValueError):
    """This is no module."""


def taken_apart(data: bytes) -> Piped:
    _wrapper, nulls, payload = data.partition(b"\0\0\0\0")
    if not nulls:
        raise NotPiped("no payload behind four NUL bytes")
    manifest = json.loads(payload.strip().decode("utf-8-sig"))
    return _of_actions(manifest) if "scripts" in manifest else _of_one_module(manifest)


def _of_actions(manifest: dict[str, Any]) -> Piped:
    """ansible-core 2.19 and newer: scripts, and in which order they call each other."""
    actions = {action["name"]: action["params"] for action in manifest["actions"]}
    variables = actions.get("module_wrapper.ps1", {}).get("Variables", [])
    found = [one for one in variables if one["Name"] == "complex_args"]
    if not found:
        raise NotPiped("a script")
    job = actions.get("async_wrapper.ps1", {}).get("AsyncJid", "")
    return _piped(found[0]["Value"], job, actions.get("async_watchdog.ps1", {}).get("Timeout", 0))


def _of_one_module(manifest: dict[str, Any]) -> Piped:
    """Up to 2.18: everything about one module beside each other."""
    if "module_args" not in manifest:
        raise NotPiped("a script")
    return _piped(manifest["module_args"], manifest.get("async_jid", ""), manifest.get("async_timeout_sec", 0))


def _piped(arguments: dict[str, Any], job: str, seconds: float) -> Piped:
    given = {name: value for name, value in arguments.items() if not name.startswith("_ansible_")}
    return Piped(
        arguments["_ansible_module_name"], given, bool(arguments.get("_ansible_check_mode")), str(job), float(seconds)
    )
