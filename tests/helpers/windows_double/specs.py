# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules of ansible.windows take, by their own documentation."""

from __future__ import annotations

import ast
import functools
import os
from pathlib import Path
from typing import Any

import yaml

COLLECTION = Path("ansible_collections") / "ansible" / "windows" / "plugins"


def _plugins() -> Path:
    for folder in os.environ["ANSIBLE_COLLECTIONS_PATH"].split(os.pathsep):
        if (Path(folder) / COLLECTION).is_dir():
            return Path(folder) / COLLECTION
    raise FileNotFoundError("ansible.windows is in none of ANSIBLE_COLLECTIONS_PATH")


def _documentation(path: Path, name: str) -> dict[str, Any]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == name:
            found: dict[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise ValueError(f"{path} has no {name}")


@functools.cache
def options_of(module: str) -> dict[str, dict[str, Any]]:
    """Option, or one of its other names -> what is documented of it. Raises where there is no such module."""
    plugins = _plugins()
    told = _documentation(plugins / "modules" / f"{module}.py", "DOCUMENTATION")
    options: dict[str, dict[str, Any]] = dict(told.get("options") or {})
    for fragment in told.get("extends_documentation_fragment", []):
        name = fragment.rpartition(".")[2]
        path = plugins / "doc_fragments" / f"{name}.py"
        if path.is_file():
            options = {**_documentation(path, "DOCUMENTATION")["options"], **options}
    aliases = {alias: option for option in options.values() for alias in option.get("aliases", [])}
    return {**options, **aliases}


def complaint_about(module: str, arguments: dict[str, Any]) -> str:
    """What the real module refuses: options that it does not have, choices that are none, what is missing."""
    options = options_of(module)
    for name, value in arguments.items():
        if name not in options:
            return f"Unsupported parameters for ({module}) module: {name}"
        choices = options[name].get("choices")
        if choices and value is not None and str(value) not in map(str, choices):
            return f"value of {name} must be one of: {', '.join(map(str, choices))}. Got no match for: {value}"
    given = [id(options[name]) for name in arguments]
    # By whichever of its names.
    missing = [name for name, option in options.items() if option.get("required") and id(option) not in given]
    return f"missing required arguments: {', '.join(missing)}" if missing else ""
