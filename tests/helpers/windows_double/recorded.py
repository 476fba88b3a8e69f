# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a real PowerShell said to the actions of _windows_host.ps1, case by case, and what listened and lay there then.

A replay asks the same again, of whatever does these actions: each case finds what those before have left.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CASES = json.loads(Path(__file__).with_name("seen.json").read_text(encoding="utf-8"))
FOLDER = "C:/ProgramData/azure-maintenance"
LINKS = {"link": "journal.json", "linked": "elsewhere"}


def _byte_by_byte(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _number in range(10):
        connection.sendall(b"x")
        time.sleep(0.02)
    time.sleep(4)


def _short(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc")


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _large(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"y" * 100_000)


def _silent(_connection: socket.socket) -> None:
    time.sleep(4)


def _chunked(connection: socket.socket) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    connection.sendall(head + b'5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n')


def _plain(connection: socket.socket) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\nConnection: close\r\n\r\n{"a":1}')


# What listened at the ports of the recording.
SERVERS = {
    8201: _byte_by_byte,
    8202: _short,
    8203: _reset,
    8204: _large,
    8205: _silent,
    8206: _chunked,
    8207: _plain,
}


@contextlib.contextmanager
def served(answer: Any) -> Iterator[int]:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _address = listener.accept()
                with connection:
                    connection.recv(4096)
                    answer(connection)

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def as_recorded(result: dict[str, Any]) -> dict[str, Any]:
    """What differs from one recording to the next: how much came before it was too much, and for how long it was up."""
    result = dict(result)
    if result.get("problem") == "too_large" and "answer" in result:
        result["answer"] = base64.b64decode(result["answer"].rstrip(".") + "==")[:60]
        result.pop("body_sha256")
    if "uptime" in result:
        result["uptime"] = isinstance(result["uptime"], float)
    return result


def _make_links(folder: Path, case: dict[str, Any]) -> None:
    """The links that were there, made beside what the cases before have left."""
    for action in case["actions"]:
        for name, target in LINKS.items():
            if f"/{name}" in action.get("path", "") and not (folder / name).is_symlink():
                if target == "elsewhere":
                    (folder / target).mkdir()
                (folder / name).symlink_to(folder / target)


def differences(folder: Path, done: Callable[[list[dict[str, Any]], bool], dict[str, Any]]) -> list[Any]:
    """Where the answers are others than the recorded ones. `folder` is the one that the paths of the cases name."""
    found = []
    for case in CASES:
        _make_links(folder, case)
        asked = [dict(action) for action in case["actions"]]
        with contextlib.ExitStack() as stack:
            for port in {action["port"] for action in asked if action.get("port") in SERVERS}:
                real = stack.enter_context(served(SERVERS[port]))
                for action in asked:
                    action["port"] = real if action.get("port") == port else action.get("port")
            told = done(asked, case["check_mode"])
        answered = ([as_recorded(one) for one in told["results"]], told["changed"])
        recorded = ([as_recorded(one) for one in case["results"]], case["changed"])
        if answered != recorded:
            found.append((case["case"], answered, recorded))
    return found
