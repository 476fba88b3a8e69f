# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in front of a VM's metadata service that never says the same in the same bytes."""

from __future__ import annotations

import contextlib
import http.server
import itertools
import threading
from collections.abc import Callable, Iterator

from helpers.simulator_process import ask


def as_it_is(body: bytes, number: int) -> bytes:
    """The same data: only the blanks behind it grow."""
    return body + b" " * number


@contextlib.contextmanager
def restless_service(endpoint: str, told: Callable[[bytes, int], bytes] = as_it_is) -> Iterator[str]:
    """Its address. `told` makes the body of an answer from that of the service behind it and from how many came."""
    numbers = itertools.count(1)

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else None
            found = ask(endpoint + self.path, self.command, body, {"Metadata": "true"})
            content = told(found.body, next(numbers))
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = answer  # noqa: N815

        def log_message(self, *_about: object) -> None:
            """Nothing is said about it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
