# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts at loopback addresses of their own, behind a real sshd, with connections that stay open between tasks."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from helpers.sshd_process import sshd

# As many as one sshd can listen at.
ADDRESSES_A_SERVER = 16
# For by_ssh: `python WRAPPER LOG` runs each command of a host and writes down what it used.
WRAPPER = Path(__file__).resolve().parent / "measured_shell.py"


def by_ssh(
    folder: Path, names: list[str], servers: contextlib.ExitStack, force_command: str = ""
) -> dict[str, dict[str, Any]]:
    """Host -> the variables with which it is reached, as long as `servers` is open."""
    hosts: dict[str, dict[str, Any]] = {}
    for part in range(0, len(names), ADDRESSES_A_SERVER):
        addresses = {f"127.0.0.{11 + part + n}": name for n, name in enumerate(names[part : part + ADDRESSES_A_SERVER])}
        own = folder / f"sshd{part}"
        own.mkdir(parents=True)
        host_vars = servers.enter_context(sshd(own, tuple(addresses), force_command))
        host_vars["ansible_ssh_args"] = f"-o ControlMaster=auto -o ControlPersist=60s -o ControlPath={folder}/%C"
        for address, name in addresses.items():
            hosts[name] = {**host_vars, "ansible_host": address}
    return hosts
