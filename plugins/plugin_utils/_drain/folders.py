# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the task files of the kinds of drain steps are, on the controller."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import (
    DONE_BY_TASKS,
    SPECS,
    Spec,
    looks_on_windows,
    place_of,
    windows_half,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import BadSteps

OURS = Path(__file__).resolve().parents[3] / "roles" / "steps" / "tasks"
HALVES = ("drain.yml", "restore.yml")


@dataclasses.dataclass(frozen=True)
class Folders:
    """The kinds of steps that a run knows: ours, and those of the user."""

    own: Mapping[str, Path]
    basedir: Path
    here: str
    on_windows: bool = False

    @classmethod
    def found(cls, steps_path: Iterable[str], basedir: str, here: str, on_windows: bool = False) -> Folders:
        """`here`: the inventory host that is drained. Paths are relative to the playbook."""
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
        """The user's kinds and the arguments that they take, for those that say so in arguments.yml."""
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
        if not is_own and kind not in DONE_BY_TASKS:
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
        is_node = kind == "kubernetes" and not is_own
        return {
            "file": str(OURS / half / ("by_tasks_after_a_look.yml" if looks else "by_tasks.yml")),
            "host": str(arguments["host"]) if is_node else None,
            "by_tasks": True,
            "own_kind": is_own,
            "from_record": str(OURS / "kubernetes" / "restore_from_record.yml") if is_node else None,
            "tasks": str(tasks),
            "look": str(self._folder(kind) / "look.yml"),
        }

    def _placed_on_windows(self, half: str, kind: str, arguments: Mapping[str, t.Any]) -> dict[str, t.Any]:
        """On Linux the host does it by itself; on Windows tasks do."""
        try:
            name = windows_half(kind, arguments)
        except ValueError as error:
            raise BadSteps(str(error)) from None
        folder = OURS / "windows" / name
        looks = half == "drain" and looks_on_windows(name, arguments)
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
        """The tasks of a check of health on a Windows host."""
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
