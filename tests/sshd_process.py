# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real sshd on a free port of this machine, for the user who runs the tests, gone when the block ends."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SSHD = shutil.which("sshd", path=os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"]))
SETTINGS = """
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
PidFile none
AuthorizedKeysFile {folder}/user_key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
MaxStartups 100
Subsystem sftp internal-sftp
"""


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def sshd(folder: Path) -> Iterator[dict[str, Any]]:
    """Gives the variables with which a host is reached through it."""
    assert SSHD
    for key in ("host_key", "user_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True)
    port = _free_port()
    (folder / "sshd_config").write_text(SETTINGS.format(port=port, folder=folder))
    if os.geteuid() == 0:
        # Where sshd of root puts its unprivileged half; a boot would have made it.
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    with (folder / "sshd.log").open("wb") as log:
        process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    try:
        _wait_until_it_listens(port, folder / "sshd.log")
        yield {
            "sshd_pid": process.pid,
            "ansible_connection": "ssh",
            "ansible_host": "127.0.0.1",
            "ansible_port": port,
            "ansible_user": getpass.getuser(),
            "ansible_ssh_private_key_file": str(folder / "user_key"),
            # The folder of a test has too long a name for a control socket in it.
            "ansible_ssh_args": "-o ControlMaster=no -o ControlPath=none",
            "ansible_ssh_common_args": f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={folder}/known_hosts",
        }
    finally:
        process.terminate()
        process.wait(10)


def _wait_until_it_listens(port: int, log: Path) -> None:
    ends = time.monotonic() + 10
    while time.monotonic() < ends:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"sshd does not listen: {log.read_text()}")
