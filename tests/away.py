# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts that nobody gets to, on machines with and without ssh."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

NO_WAY = "#!/bin/sh\necho 'ssh: connect to host: Connection refused' >&2\nexit 255\n"


def through_an_ssh_that_never_gets_there(folder: Path) -> dict[str, Any]:
    program = folder / "ssh"
    program.write_text(NO_WAY)
    program.chmod(0o755)
    return {"ansible_connection": "ssh", "ansible_ssh_executable": str(program)}


def away(folder: Path) -> dict[str, Any]:
    """Variables of a host at whose port nobody listens."""
    stand_in = {} if shutil.which("ssh") else through_an_ssh_that_never_gets_there(folder)
    return {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1, **stand_in}
