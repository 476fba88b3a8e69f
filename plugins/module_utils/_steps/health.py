# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health checks of a host that returns to service.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import socket

from . import machine

# One asking is given this much even where the time for all askings is short.
SECONDS_PER_ASKING = 10


def failed_check(host, check):
    """None when the check passes, else the sentence that says what is wrong."""
    patience = machine.Machine(min(check["timeout"], host.left()), contact=host.contact)
    answers = [""]

    def passes():
        answers[0] = _complaint(machine.Machine(max(patience.left(), SECONDS_PER_ASKING)), check)
        return answers[0] is None

    if patience.wait_until(passes, interval=check["interval"]):
        return None
    return "%s (asked for %s)" % (answers[0], machine.in_seconds(patience.timeout))


def _complaint(host, check):
    try:
        for name, ask in (("uri", _uri), ("command", _command), ("port", _port), ("service", _service)):
            if check.get(name) is not None:
                return ask(host, check)
    except machine.StepError as error:
        return str(error)
    return "A health check must have one of uri, command, port, service"


def _uri(host, check):
    uri = check["uri"]
    try:
        _status, text = machine.request(
            uri["url"],
            method=uri["method"],
            body=uri.get("body"),
            headers=uri.get("headers"),
            timeout=min(SECONDS_PER_ASKING, host.left()),
            validate_certs=uri["validate_certs"],
            accepted=uri["status_code"],
            proxy=False,
        )
    except machine.WebError as error:
        return str(error)
    wanted = uri.get("contains")
    return None if not wanted or wanted in text else "%s answers without %r" % (uri["url"], wanted)


def _command(host, check):
    code, output = host.run(check["command"])
    return (
        None
        if code == 0
        else "%s ends with exit code %d%s" % (machine.words_of(check["command"])[0], code, machine.said(output))
    )


def _port(host, check):
    address = (check["host"], check["port"])
    try:
        socket.create_connection(address, timeout=min(SECONDS_PER_ASKING, host.left())).close()
    except OSError as error:
        return "%s port %d can't be reached: %s" % (address + (error,))
    return None


def _service(host, check):
    code, output = host.run(["systemctl", "is-active", "--", check["service"]])
    return None if code == 0 else "The service %s is %s" % (check["service"], output or "not active")
