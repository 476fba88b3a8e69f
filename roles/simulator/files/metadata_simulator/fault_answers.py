# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a client hears under a fault."""

import http.client

from .faults import STATUS_FAULTS
from .http_messages import Response, compact_json

HUGE_BODY_BYTES = 2 * 1024 * 1024
HTML_PAGE = b"<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>\n"
DEFAULT_REDIRECT = "http://login.invalid/"


def answer_with_fault(fault, process, client_is_there):
    """The response under this fault, or None where the connection is closed without one."""
    kind = fault.kind
    if kind in ("drop", "refuse"):
        return None
    if kind == "lost_answer":
        process()
        return None
    if kind == "hang":
        fault.wait_until_over()
        return process() if client_is_there() else None
    if kind == "slow":
        fault.cleared.wait(fault.spec.get("delay", 5))
        return process() if client_is_there() else None
    if kind == "truncated_json":
        return shortened(process())
    if kind == "huge_body":
        return padded(process(), fault.spec.get("bytes", HUGE_BODY_BYTES))
    return made_up_answer(fault)


def shortened(response):
    return response.with_body(response.body[: max(1, len(response.body) // 2)])


def padded(response, size):
    # Blanks keep the JSON valid, so that only a limit on the size protects a client.
    return response.with_body(response.body + b" " * max(0, size - len(response.body)))


def made_up_answer(fault):
    spec, kind = fault.spec, fault.kind
    headers = dict(spec.get("headers", {}))
    if "retry_after" in spec:
        headers["Retry-After"] = str(spec["retry_after"])
    if kind in STATUS_FAULTS:
        status = STATUS_FAULTS[kind] or spec["status"]
        body = spec.get("body", {"error": http.client.responses.get(status, "Error")})
        return Response(status, as_bytes(body), headers=headers)
    if kind == "empty_200":
        return Response(200, b"", headers=headers)
    if kind == "html":
        return Response(spec.get("status", 200), HTML_PAGE, "text/html; charset=utf-8", headers)
    if kind == "redirect":
        headers["Location"] = spec.get("location", DEFAULT_REDIRECT)
        return Response(spec.get("status", 302), b"", headers=headers)
    if kind == "wrong_shape":
        return Response(200, as_bytes(spec.get("body", {"DocumentIncarnation": 1, "Events": "none"})), headers=headers)
    return Response(spec.get("status", 200), as_bytes(spec.get("body", "")), headers=headers)


def as_bytes(body):
    return body.encode("utf-8") if isinstance(body, str) else compact_json(body)
