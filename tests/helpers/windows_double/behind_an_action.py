# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double of a Windows host behind an action, which takes modules to it: for what decides on the controller."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import powershell

from helpers.windows_double import deeds
from helpers.windows_double.machine import Machine


class BehindAnAction:
    def __init__(self, folder: Path, monkeypatch: Any) -> None:
        monkeypatch.setattr(powershell.constants, "DEFAULT_LOCAL_TMP", str(folder))
        self.machine = Machine(folder / "windows")
        self.calls: list[list[str]] = []
        self._task = types.SimpleNamespace(delegate_to=None, check_mode=False)
        # What happens before the call of this number.
        self.meanwhile: dict[int, Any] = {}

    def _execute_module(self, module_name: str, module_args: dict[str, Any], task_vars: Any) -> dict[str, Any]:
        self.meanwhile.get(len(self.calls), lambda: None)()
        self.calls.append([deed["deed"] for deed in module_args["deeds"]])
        return deeds.done(self.machine, module_args["deeds"], check_mode=False)

    def run(self, code: types.ModuleType, request: dict[str, Any]) -> dict[str, Any]:
        """What a host half returns for a request."""
        action: Any = self
        return powershell.run_by_powershell(action, code, request, {"inventory_hostname": "web"})
