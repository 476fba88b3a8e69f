# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the controller has the collections that files of tasks use, and the files that those include."""

from __future__ import annotations

import dataclasses
import importlib.util
import typing as t
from collections.abc import Callable, Iterable
from pathlib import Path

from ansible.errors import AnsibleError
from ansible.plugins.loader import action_loader, module_loader
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.task_files import used_by
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import BadSteps


@dataclasses.dataclass
class Looked:
    """`missing`: modules and roles that are not there. `unknown`: what could not be looked into, in words."""

    missing: set[str] = dataclasses.field(default_factory=set)
    unknown: list[str] = dataclasses.field(default_factory=list)


def look_into(
    files: Iterable[Path], folders: Iterable[Path], load: Callable[[str], t.Any], resolve: Callable[[str], t.Any]
) -> Looked:
    """`folders`: where an included file may be that is not beside the one that includes it. Raises BadSteps.

    `load` reads a file of tasks, `resolve` a name that may be a template; both may raise AnsibleError.
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
        # Such as the item of a loop.
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
