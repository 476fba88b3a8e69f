# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind haproxy.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import errno
import re
import socket

from . import machine
from .kind import PATH, Kind
from .machine import StepError

# A space or a semicolon would begin another command in HAProxy's command line.
NAME = re.compile(r"[A-Za-z0-9_.:-]+\Z")
# Bits of srv_admin_state, from HAProxy's management guide.

MAINTENANCE_BITS = 0x01 | 0x02 | 0x04 | 0x20 | 0x40
DRAIN_BITS = 0x08 | 0x10
UP = 2
SECONDS_PER_COMMAND = 10


class HAProxy(Kind):
    name = "load_balancer.haproxy"
    options = dict(
        backend=dict(type="str", required=True),
        server=dict(type="str", required=True),
        socket=dict(type="str", default="/run/haproxy/admin.sock"),
        host=dict(type="str"),
        timeout=dict(type="int", default=60),
        wait_sessions=dict(type="int"),
    )
    acts_on = ("backend", "server")
    has_host = True

    @classmethod
    def problems(cls, arguments, on_windows=False):
        for name in ("backend", "server"):
            if not NAME.match(str(arguments[name])):
                yield "%r can't be the name of a %s of HAProxy" % (arguments[name], name)
        yield from machine.bad_path("socket", arguments["socket"])

    @classmethod
    def needs(cls, arguments):
        return [(PATH, arguments["socket"], "socket")]

    @classmethod
    def look(cls, host, arguments):
        server = _server(arguments)
        return {"state": server["state"], "up": server["up"]}

    @classmethod
    def drain(cls, host, arguments, before):
        """Drain a server unless somebody else took it out of rotation: draining would end its maintenance."""
        name = "%s/%s" % (arguments["backend"], arguments["server"])
        if before["state"] == "ready" and _server(arguments)["state"] == "ready":
            host.change("drained %s in HAProxy" % name, _set_state, arguments, "drain")
            if not host.check_mode and _server(arguments)["state"] != "drain":
                raise StepError("HAProxy took the command, but %s is not drained" % name)
        wait_sessions = arguments.get("wait_sessions")
        if wait_sessions is None or host.check_mode:
            return
        if not host.wait_until(lambda: _sessions(arguments) <= wait_sessions):
            raise StepError(
                "HAProxy still has %d sessions with %s after %s, at most %d are allowed"
                % (_sessions(arguments), name, machine.in_seconds(host.timeout), wait_sessions)
            )

    @classmethod
    def restore(cls, host, arguments, before):
        if before.get("state") != "ready":
            return
        name = "%s/%s" % (arguments["backend"], arguments["server"])
        state = _server(arguments)["state"]
        if state == "maint":
            host.warnings.append("%s was put into maintenance in HAProxy by somebody else, and stays so" % name)
            return
        if state == "drain":
            host.change("%s is ready again in HAProxy" % name, _set_state, arguments, "ready")
        # The next host must not leave the rotation before HAProxy sends requests to this one.
        if before.get("up") and not host.check_mode and not host.wait_until(lambda: _in_rotation(arguments)):
            raise StepError(
                "HAProxy does not take %s for up after %s: look at its health check"
                % (name, machine.in_seconds(host.timeout))
            )


def _in_rotation(arguments):
    server = _server(arguments)
    return server["state"] == "ready" and server["up"]


def _server(arguments):
    answer = ask(arguments["socket"], "show servers state %s" % arguments["backend"])
    servers = server_states(answer)
    if not servers:
        raise StepError("HAProxy does not know the backend %s%s" % (arguments["backend"], _quoted(answer)))
    if arguments["server"] not in servers:
        raise StepError(
            "There is no server %s in HAProxy's backend %s, only %s"
            % (arguments["server"], arguments["backend"], ", ".join(sorted(servers)))
        )
    return servers[arguments["server"]]


def server_states(text):
    """Parse `show servers state`: a version, a line of names after a #, a line for each server."""
    lines = text.splitlines()
    header = next((number for number, line in enumerate(lines) if line.startswith("# ")), None)
    if header is None:
        return {}
    names = lines[header][2:].split()
    rows = [dict(zip(names, line.split(" "))) for line in lines[header + 1 :] if line.strip()]
    return {row["srv_name"]: _state(row) for row in rows}


def _state(row):
    bits = int(row["srv_admin_state"])
    state = "maint" if bits & MAINTENANCE_BITS else "drain" if bits & DRAIN_BITS else "ready"
    return {"state": state, "up": int(row["srv_op_state"]) == UP}


def _sessions(arguments):
    answer = ask(arguments["socket"], "show stat")
    names = []
    for line in answer.splitlines():
        fields = line.lstrip("# ").split(",")
        names = names or fields
        row = dict(zip(names, fields))
        if (row.get("pxname"), row.get("svname")) == (arguments["backend"], arguments["server"]):
            return int(row["scur"])
    raise StepError("HAProxy does not tell the sessions of %s/%s" % (arguments["backend"], arguments["server"]))


def _set_state(arguments, state):
    answer = ask(
        arguments["socket"], "set server %s/%s state %s" % (arguments["backend"], arguments["server"], state)
    ).strip()
    if answer:
        advice = " The socket needs `level admin`" if "ermission denied" in answer else ""
        raise StepError("HAProxy refuses to set the state of a server%s.%s" % (_quoted(answer), advice))


def ask(path, command):
    """Send one command and return the answer; HAProxy closes the connection at its end."""
    answer = b""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as admin:
            admin.settimeout(SECONDS_PER_COMMAND)
            admin.connect(path)
            admin.sendall(command.encode("utf-8") + b"\n")
            while True:
                part = admin.recv(65536)
                if not part:
                    break
                answer += part
    except OSError as error:
        raise StepError("HAProxy can't be reached at its socket %s: %s" % (path, _reason(error))) from None
    return answer.decode("utf-8", "replace")


def _reason(error):
    return {
        errno.ENOENT: "there is no such socket. HAProxy may be stopped, or lacks `stats socket` in its configuration",
        errno.ECONNREFUSED: "nobody listens there. HAProxy may be stopped",
        errno.EACCES: "permission denied. Use become, or a socket that this user may use",
    }.get(error.errno, str(error))


def _quoted(answer):
    return ": %s" % answer.strip()[:200] if answer.strip() else ""
