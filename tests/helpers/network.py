# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ports for servers, one at which nobody listens, a server for HTTP, hosts that are down, and one that hangs."""

from __future__ import annotations

import contextlib
import fcntl
import http.server
import json
import os
import random
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

# Below those from which the kernel takes one for every connection: such a one may be gone before the server is there.
PORTS = range(15000, 30000)


# One that was given away is kept from the other processes of the tests until this one ends.
RESERVED = Path(tempfile.gettempdir()) / f"ports-of-tests-{os.getuid()}"
_kept: list[IO[str]] = []


def free_port(address: str = "") -> int:
    """At which nobody listens; at any address, if none is given."""
    RESERVED.mkdir(exist_ok=True)
    for port in random.sample(PORTS, 200):
        reserved = (RESERVED / str(port)).open("w")
        with contextlib.suppress(OSError):
            fcntl.flock(reserved, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with socket.create_server((address, port)):
                _kept.append(reserved)
                return port
        reserved.close()
    raise OSError("no port is free")


def listens(port: int, address: str = "127.0.0.1") -> bool:
    """Somebody takes connections there."""
    with contextlib.suppress(OSError), socket.create_connection((address, port), 1):
        return True
    return False


@contextlib.contextmanager
def closed_port() -> Iterator[int]:
    """Refuses connections. It stays bound, or another process might listen there meanwhile."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


# Method, path, headers and body of a request -> the status, and the content: bytes, data for JSON, or None for nothing.
Answer = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Any]]


@contextlib.contextmanager
def http_server(answer: Answer) -> Iterator[str]:
    """The address of a server that answers so, as long as the block lasts."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def reply(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, content = answer(self.command, self.path, self.headers, body)
            text = content if isinstance(content, bytes) else b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_DELETE = reply  # noqa: N815

        def log_message(self, *_about: object) -> None:
            """Print nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()


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


# Stands for a host that hangs: from the moment that spec.json names on, it takes commands and never answers.
HANGING = """
import base64, json, os, pathlib, re, time, zlib
from ansible.plugins.connection.local import Connection as Local

DOCUMENTATION = {documentation!r}
here = pathlib.Path({folder!r})

class Connection(Local):
    transport = "hanging"

    def exec_command(self, cmd, in_data=None, sudoable=True):
        spec, host = json.loads((here / "spec.json").read_text()), self._play_context.remote_addr
        if host != spec["host"]:
            return super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
        if not (here / "hangs").exists():
            text = " ".join([str(cmd), told_in(str(cmd)), (in_data or b"").decode()])
            is_due = not spec["after"] or (here / "due").exists()
            hangs = is_due and re.search(spec["at"], text)
            if not hangs or spec["does"]:
                answer = super().exec_command(cmd, in_data=in_data, sudoable=sudoable)
            if not hangs:
                if spec["after"] and re.search(spec["after"], text):
                    (here / "due").touch()
                return answer
            (here / "hangs").touch()
        if spec["by"] == "command":
            return super().exec_command("exec /bin/sleep 100000", in_data=None, sudoable=sudoable)
        while True:
            try:
                time.sleep(1)
            except Exception:
                pass

def told_in(cmd):
    found = re.findall("[A-Za-z0-9+/=]{{200,}}", cmd)
    return json.dumps(json.loads(zlib.decompress(base64.b64decode(found[-1])))[1]) if found else ""
"""


class HangingHost:
    """`at` and `after` are patterns of what a host is asked for; `does`: it does that, and then hangs."""

    def __init__(
        self, folder: Path, host: str, at: str, after: str = "", does: bool = False, by: str = "command"
    ) -> None:
        # Most tests have no need of Ansible in their own process.
        from ansible.plugins.connection import local

        self.folder = folder
        folder.mkdir()
        (folder / "spec.json").write_text(json.dumps({"host": host, "at": at, "after": after, "does": does, "by": by}))
        documentation = local.DOCUMENTATION.replace("name: local", "name: hanging")
        (folder / "hanging.py").write_text(HANGING.format(documentation=documentation, folder=str(folder)))

    @property
    def hangs(self) -> bool:
        return (self.folder / "hangs").exists()
