# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file of tasks uses: modules, other files, roles. Pure."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

_FULL_NAME = re.compile(r"[a-z_]\w*\.[a-z_]\w*(\.[a-z_]\w*)+")
_INCLUDED = re.compile(r"(ansible\.(builtin|legacy)\.)?(include|import)_(?P<what>tasks|role)")


class Used(t.NamedTuple):
    """Modules and roles by their full names, as YAML has them; files as they are written, templates and all."""

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
            # As it is: since ansible-core 2.19 a text remembers whether it may be a template.
            return Used(files=frozenset([name] if isinstance(name, str) else []))
        name = value.get("name") if isinstance(value, Mapping) else value
        return Used(roles=_full_names(name))
    if key in ("action", "local_action"):
        name = value.get("module") if isinstance(value, Mapping) else str(value).split(" ", 1)[0]
        return Used(modules=_full_names(name))
    return Used(modules=_full_names(key))


def _full_names(name: t.Any) -> frozenset[str]:
    return frozenset([str(name)] if _FULL_NAME.fullmatch(str(name)) else [])
