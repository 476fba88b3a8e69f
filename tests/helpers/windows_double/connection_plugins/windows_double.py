# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A connection to the double of a Windows host: what Ansible pipes to PowerShell is answered by Python.

Where there is a PowerShell, our own module runs in it; those of ansible.windows need Windows itself.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any, ClassVar

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.connection import ConnectionBase

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from helpers.windows_double import actions, modules, powershell_process
from helpers.windows_double.machine import Machine
from helpers.windows_double.piped import NotPiped, taken_apart

DOCUMENTATION = """
name: windows_double
short_description: A double of a Windows host
description: [For tests.]
author: maintenance.azure contributors
version_added: 0.1.0
options:
  folder:
    description: What the machine is made of.
    type: path
    required: true
    vars:
      - name: windows_double_folder
"""

OURS = "maintenance.azure._windows_host"


class Connection(ConnectionBase):  # type: ignore[misc]
    transport = "windows_double"
    module_implementation_preferences = (".ps1", ".exe", "")
    become_methods: ClassVar = ["runas"]
    allow_executable = False
    has_pipelining = True
    always_pipeline_modules = True
    # As WinRM and PSRP: what is to go on alone is piped as well.
    has_native_async = True

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._shell_type = "powershell"
        super().__init__(*arguments, **more)

    def _connect(self) -> Connection:
        self._connected = True
        return self

    def exec_command(self, cmd: str, in_data: bytes | None = None, sudoable: bool = True) -> tuple[int, bytes, bytes]:
        machine = Machine(Path(self.get_option("folder")))
        if machine.trouble().get("away"):
            raise AnsibleConnectionFailure("the machine does not answer")
        try:
            piped = taken_apart(in_data or b"")
        except NotPiped as error:
            return 1, b"", f"The double takes modules only: {error}".encode()
        if piped.module == OURS and powershell_process.POWERSHELL:
            code, output, errors = powershell_process.piped(machine, cmd, in_data or b"")
            try:
                answer = json.loads(output)
            except ValueError:
                return code, output, errors
        elif piped.module == OURS:
            answer = actions.done(machine, piped.arguments["actions"], piped.check_mode)
        else:
            answer = modules.done(machine, piped)
        machine.note(piped.module, piped.arguments, answer)
        self._have_trouble(machine, piped.arguments)
        return 0, json.dumps({**answer, **machine.trouble().get("lie", {})}).encode(), b""

    @staticmethod
    def _have_trouble(machine: Machine, arguments: dict[str, Any]) -> None:
        trouble = machine.trouble()
        time.sleep(trouble.get("seconds_a_call", 0))
        if trouble.get("lose", 0) > 0 and trouble.get("with", "") in json.dumps(arguments):
            machine.has_trouble(**{**trouble, "lose": trouble["lose"] - 1})
            raise AnsibleConnectionFailure("the connection was lost before the answer came")

    def put_file(self, in_path: str, out_path: str) -> None:
        machine = Machine(Path(self.get_option("folder")))
        target = machine.real(out_path.strip("'\""))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(in_path).read_bytes())

    def fetch_file(self, in_path: str, out_path: str) -> None:
        raise AnsibleConnectionFailure("Nothing is fetched from a Windows host")

    def close(self) -> None:
        self._connected = False
