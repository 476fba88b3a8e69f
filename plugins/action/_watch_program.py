# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings the watcher's program to the host as one file; the program unpacks it there."""

from __future__ import annotations

import json
import tempfile
import typing as t
from pathlib import Path

from ansible.plugins.action import ActionBase

from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._common.options import watch_program_options
from ..plugin_utils._watch.settings import program_parts

MODULE_UTILS = Path(__file__).resolve().parents[1] / "module_utils"
# What runs on a host by itself, without a controller.
PACKAGES = ("_azure", "_host", "_steps", "_watcher")


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = True

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=watch_program_options())
        files = [
            (str(path.relative_to(MODULE_UTILS)), path.read_text(encoding="utf-8"))
            for package in PACKAGES
            for path in (MODULE_UTILS / package).glob("*.py")
        ]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.json"
            program.write_text(json.dumps(program_parts(files), indent=0, sort_keys=True) + "\n", encoding="utf-8")
            return self._copied(program, options["dest"], task_vars or {})

    def _copied(self, source: Path, dest: str, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """Ansible's own copy does the rest, with its check mode and its diff."""
        task = self._task.copy()
        task.args = {"src": str(source), "dest": dest, "owner": "root", "group": "root", "mode": "0644"}
        copy = self._shared_loader_obj.action_loader.get(
            "ansible.legacy.copy",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return copy.run(task_vars=task_vars)
