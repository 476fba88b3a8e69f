# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real sshd on a free port of this machine, for the user who runs the tests, gone when the block ends."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from helpers.network import free_port, listens
from helpers.waiting import PATIENCE, wait_until

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
SETTINGS = """
Port {port}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 100
Subsystem sftp {sftp}
{more}
"""
# One in a program of its own can be run through another command.
SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")


@contextlib.contextmanager
def sshd(
    folder: Path, addresses: tuple[str, ...] = ("127.0.0.1",), force_command: str = ""
) -> Iterator[dict[str, Any]]:
    """Gives the variables with which a host is reached through it, at the first of the addresses (16 at most)."""
    assert SSHD
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    port = free_port(addresses[0])
    more = [f"ListenAddress {address}" for address in addresses]
    if force_command:
        more.append(f"ForceCommand {force_command}")
    sftp = next((path for path in SFTP_SERVERS if Path(path).exists()), "internal-sftp")
    settings = SETTINGS.format(port=port, folder=folder, sftp=sftp, more="\n".join(more))
    (folder / "sshd_config").write_text(settings)
    if os.geteuid() == 0:
        # Where sshd of root puts its unprivileged half; a boot would have made it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    try:
        wait_until(lambda: listens(port, addresses[0]), (folder / "sshd.log").read_text)
        yield {
            "sshd_pid": process.pid,
            "ansible_connection": "ssh",
            "ansible_host": addresses[0],
            "ansible_port": port,
            "ansible_user": getpass.getuser(),
            # Terminals are given away by root alone.
            "ansible_ssh_use_tty": os.geteuid() == 0,
            "ansible_ssh_private_key_file": str(folder / "user_key"),
            # The folder of a test has too long a name for a control socket in it.
            "ansible_ssh_args": "-o ControlMaster=no -o ControlPath=none",
            "ansible_ssh_common_args": f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={folder}/known_hosts",
        }
    finally:
        process.terminate()
        process.wait(PATIENCE)
