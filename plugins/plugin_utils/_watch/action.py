# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_watch`: check the variables of the role watch, and bring the watcher's program to a host."""

from __future__ import annotations

import json
import tempfile
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ...module_utils._watcher import children
from .._common import ansible
from .._common.options import watch_options
from .._steps import validate
from . import settings as _settings

OPTIONS = watch_options()
MODULE_UTILS = Path(__file__).resolve().parents[2] / "module_utils"
# What runs on a host by itself, without a controller.
PACKAGES = ("_azure", "_host", "_steps", "_watcher")


class WatchAction(ansible.DoesOneOf):
    does = OPTIONS

    def do_settings(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["settings"])
        options = ansible.plain(options)
        try:
            settings = _settings.settings_of(options)
            reflexes = self._reflexes(settings, options, task_vars)
        except (_settings.BadWatch, validate.BadSteps) as error:
            raise AnsibleActionFail(str(error)) from None
        if reflexes:
            settings["reflex_by"] = children.BY_UNIT if options["manage_service"] else children.BY_CHILD
            settings["reflex_settings"] = options["reflex_config"]
        return {
            "changed": False,
            # Texts, so that nothing on the way makes other values of them.
            "content": _text(settings),
            "reflex_content": _text(reflexes) if reflexes else "",
            "has_secrets": _settings.has_secrets(settings),
            "addresses": _settings.literal_addresses(settings),
        }

    def _reflexes(
        self, settings: dict[str, t.Any], options: dict[str, t.Any], task_vars: dict[str, t.Any]
    ) -> dict[str, t.Any] | None:
        if not _settings.reacts(options["reflex"]):
            return None
        here = str(task_vars["inventory_hostname"])
        more = {key: options[key] for key in ("timeout", "audit_file")}
        more["latest"] = options["reflex_latest"]
        kinds = validate.Folders.found(options["steps_path"], self._loader.get_basedir(), here).specs()
        return _settings.reflex_settings_of(
            settings,
            options["reflex"],
            task_vars,
            lambda variables: validate.resolved_steps(self._templar, variables, None),
            kinds,
            here,
            more,
        )

    def do_program(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS["program"])
        files = [
            (str(path.relative_to(MODULE_UTILS)), path.read_text(encoding="utf-8"))
            for package in PACKAGES
            for path in (MODULE_UTILS / package).glob("*.py")
        ]
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.json"
            program.write_text(
                json.dumps(_settings.program_parts(files), indent=0, sort_keys=True) + "\n", encoding="utf-8"
            )
            return self._copied(program, options["dest"], task_vars)

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


def _text(settings: t.Any) -> str:
    return json.dumps(settings, indent=1, sort_keys=True) + "\n"
