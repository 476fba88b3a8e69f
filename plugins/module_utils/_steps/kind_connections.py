# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind connections.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from . import machine
from .kind import Kind

TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
ESTABLISHED = "01"


class Connections(Kind):
    name = "connections"
    options = dict(
        ports=dict(type="list", elements="int", required=True),
        at_most=dict(type="int", default=0),
        timeout=dict(type="int", default=60),
        on_timeout=dict(type="str", default="fail", choices=["fail", "continue"]),
    )
    acts_on = ("ports",)
    # Waiting leaves nothing to undo.
    undone_by = ()
    on_windows = "connections"

    @classmethod
    def problems(cls, arguments, on_windows=False):
        for port in arguments["ports"]:
            if not isinstance(port, int) or not 0 < port < 65536:
                yield "%s is not a port" % port

    @classmethod
    def look(cls, host, arguments):
        return {"established": count(arguments["ports"])}

    @classmethod
    def drain(cls, host, arguments, before):
        at_most, ports = arguments["at_most"], ", ".join(str(port) for port in arguments["ports"])
        if host.check_mode:
            if before["established"] > at_most:
                host.done.append("waited for %d connections on %s" % (before["established"] - at_most, ports))
            return
        if host.wait_until(lambda: count(arguments["ports"]) <= at_most):
            return
        complaint = "%d established connections on port %s are left after %s, at most %d are allowed" % (
            count(arguments["ports"]),
            ports,
            machine.in_seconds(host.timeout),
            at_most,
        )
        if arguments["on_timeout"] == "fail":
            raise machine.StepError(complaint)
        host.warnings.append(complaint)


def count(ports, tables=TABLES):
    texts = []
    for table in tables:
        try:
            with open(table) as table_file:
                texts.append(table_file.read())
        except OSError:
            continue  # no IPv6 on this host
    if not texts:
        raise machine.StepError("Connections can't be counted: there is no %s on this host" % TABLES[0])
    return sum(count_in(text, ports) for text in texts)


def count_in(text, ports):
    """Lines like `0: 0100007F:1F90 0100007F:C35A 01 ...`: number, local address, remote address, state."""
    wanted = {"%04X" % port for port in ports}
    lines = (line.split(None, 4) for line in text.splitlines()[1:])
    return sum(1 for line in lines if line[3:4] == [ESTABLISHED] and line[1].rsplit(":", 1)[1] in wanted)
