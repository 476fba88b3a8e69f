# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One connection of a client."""

import contextlib
import http.server
import socket

from .http_messages import Request, json_response

LONGEST_REQUEST_BODY = 1024 * 1024
IDLE_CONNECTION_SECONDS = 120


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection, served by a thread of its own; `self.server` is the function that answers a request."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_CONNECTION_SECONDS

    def handle_one_request(self):
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or len(self.raw_requestline) > 65536 or not self.parse_request():
            return
        response = self._response()
        if response is None:
            self.close_connection = True
        else:
            body_free = self.command == "HEAD"
            rendered = response.rendered(keep_alive=not self.close_connection)
            self.wfile.write(rendered[: len(rendered) - len(response.body)] if body_free else rendered)

    def _response(self):
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > LONGEST_REQUEST_BODY:
            self.close_connection = True
            return json_response(400, {"error": "Bad request. The length of the payload is missing or not allowed"})
        body = self.rfile.read(int(length))
        path, _dummy, raw_query = self.path.partition("?")
        return self.server(Request(self.command, path, raw_query, self.headers, body), self._client_is_there)

    def _client_is_there(self):
        try:
            self.connection.settimeout(0)
            return self.connection.recv(1, socket.MSG_PEEK) != b""
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        finally:
            self.connection.settimeout(IDLE_CONNECTION_SECONDS)

    def handle(self):
        with contextlib.suppress(OSError):  # the client has gone, or has said nothing for long
            super().handle()

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *args):
        """Says nothing: the control interface has the log."""


def serve(connection, peer, server):
    with contextlib.suppress(OSError), connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(connection, peer, server)
