# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A port for a server that is started later, and one at which nobody listens."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Below those from which the kernel takes one for every connection: such a one may be gone before the server is there.
PORTS = range(15000, 30000)


def free_port(address: str = "") -> int:
    """At which nobody listens; at any address, if none is given."""
    for port in random.sample(PORTS, 200):
        with contextlib.suppress(OSError), socket.create_server((address, port)):
            return port
    raise OSError("no port is free")


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """Refuses connections. It stays bound, or another process might listen there meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


NO_WAY = "#!/bin/sh\necho 'ssh: connect to host: Connection refused' >&2\nexit 255\n"


def ssh_that_is_refused(folder: Path) -> dict[str, Any]:
    program = folder / "ssh"
    program.write_text(NO_WAY)
    program.chmod(0o755)
    return {"ansible_connection": "ssh", "ansible_ssh_executable": str(program)}


def unreachable_host(folder: Path) -> dict[str, Any]:
    """Variables of a host at whose port nobody listens."""
    stand_in = {} if shutil.which("ssh") else ssh_that_is_refused(folder)
    return {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1, **stand_in}
