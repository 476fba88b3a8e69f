# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the variables of the role watch, and makes the content of the watcher's configuration of them."""

from __future__ import annotations

import json
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ..module_utils._watcher.children import BY_CHILD, BY_UNIT
from ..plugin_utils._common.ansible import in_one_sentence, plain
from ..plugin_utils._common.options import watch_settings_options
from ..plugin_utils._steps.validate import BadSteps, Folders, resolved_steps
from ..plugin_utils._watch import settings as _settings


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=watch_settings_options())
        options = plain(options)
        try:
            settings = _settings.settings_of(options)
            reflexes = self._reflexes(settings, options, task_vars or {})
        except (_settings.BadWatch, BadSteps) as error:
            raise AnsibleActionFail(str(error)) from None
        if reflexes:
            settings["reflex_by"] = BY_UNIT if options["manage_service"] else BY_CHILD
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
        kinds = Folders.found(options["steps_path"], self._loader.get_basedir(), here).specs()
        return _settings.reflex_settings_of(
            settings,
            options["reflex"],
            task_vars,
            lambda variables, event: resolved_steps(self._templar, variables, event),
            kinds,
            here,
            more,
        )


def _text(settings: t.Any) -> str:
    return json.dumps(settings, indent=1, sort_keys=True) + "\n"
