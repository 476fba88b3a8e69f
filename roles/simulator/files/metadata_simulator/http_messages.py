# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests and responses."""

import collections
import email.utils
import http.client
import json

JSON_TYPE = "application/json; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


def compact_json(value):
    return json.dumps(value, separators=(",", ":")).encode("utf-8")


class Response:
    def __init__(self, status, body=b"", content_type=JSON_TYPE, headers=None):
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers or {}

    def with_body(self, body):
        return Response(self.status, body, self.content_type, self.headers)

    def rendered(self, keep_alive):
        headers = collections.OrderedDict()
        headers["Server"] = "metadata-simulator"
        headers["Date"] = email.utils.formatdate(usegmt=True)
        headers["Content-Type"] = self.content_type
        headers["Content-Length"] = str(len(self.body))
        headers["Connection"] = "keep-alive" if keep_alive else "close"
        headers.update(self.headers)
        reason = http.client.responses.get(self.status, "Unknown")
        head = "HTTP/1.1 %d %s\r\n" % (self.status, reason)
        head += "".join("%s: %s\r\n" % pair for pair in headers.items())
        return head.encode("latin-1", "replace") + b"\r\n" + self.body


def json_response(status, value):
    return Response(status, compact_json(value))


Request = collections.namedtuple("Request", "method path raw_query headers body")
