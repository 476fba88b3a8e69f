# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind services.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from . import machine
from .kind import A_TIMEOUT, UNIT, Kind
from .machine import StepError

RUNNING = ("active", "activating", "reloading", "refreshing")


class Services(Kind):
    name = "services"
    options = dict(names=dict(type="list", elements="str", required=True), timeout=A_TIMEOUT)
    acts_on = ("names",)
    on_windows = "services"

    @classmethod
    def problems(cls, arguments, on_windows=False):
        return [problem for name in arguments["names"] for problem in machine.bad_service(name, on_windows)]

    @classmethod
    def needs(cls, arguments):
        return [(UNIT, name, "") for name in arguments["names"]]

    @classmethod
    def looks_on_windows(cls, arguments):
        return True

    @classmethod
    def look(cls, host, arguments):
        """Which of the units run, before anything is done to them."""
        states = _states(host, arguments["names"])
        return {"running": [name for name in arguments["names"] if states[name] in RUNNING], "states": states}

    @classmethod
    def drain(cls, host, arguments, _before):
        states = _states(host, arguments["names"])
        running = [name for name in arguments["names"] if states[name] in RUNNING + ("deactivating",)]
        if not running:
            return
        host.change("stopped %s" % ", ".join(running), _systemctl, host, "stop", running)
        if host.check_mode:
            return
        states = _states(host, running)
        left = ["%s is %s" % (name, state) for name, state in states.items() if state not in ("inactive", "failed")]
        if left:
            raise StepError(
                "Not stopped: %s. Something may start it again, such as a socket or a timer" % ", ".join(left)
            )

    @classmethod
    def restore(cls, host, arguments, before):
        wanted = before.get("running", [])
        states = _states(host, wanted) if wanted else {}
        stopped = [name for name in reversed(wanted) if states[name] not in RUNNING]
        if stopped:
            host.change("started %s" % ", ".join(stopped), _systemctl, host, "start", stopped)
        if host.check_mode or not wanted:
            return

        def all_active():
            states.update(_states(host, wanted))
            return all(states[name] in ("active", "reloading", "refreshing") for name in wanted)

        if not host.wait_until(all_active):
            left = ["%s is %s" % (name, states[name]) for name in wanted if states[name] != "active"]
            raise StepError("Not running again: %s. `journalctl -u` on the host tells why" % ", ".join(left))


def _systemctl(host, verb, names):
    code, output = host.run(["systemctl", "--no-ask-password", verb, "--"] + names)
    if code != 0:
        raise StepError(
            "systemctl %s %s ended with exit code %d%s. `systemctl status` and `journalctl -u` on the host tell why"
            % (verb, " ".join(names), code, machine.said(output))
        )


def _states(host, names):
    """Name -> ActiveState. A unit that does not exist is a mistake in the step, not a stopped unit."""
    command = ["systemctl", "show", "--no-pager", "--property=LoadState,ActiveState", "--"] + list(names)
    code, output = host.run(command)
    units = [_properties(block) for block in output.split("\n\n")] if code == 0 else []
    if len(units) != len(names):
        raise StepError("systemctl does not tell the state of %s%s" % (", ".join(names), machine.said(output)))
    states = {}
    for name, unit in zip(names, units):
        if unit.get("LoadState") not in ("loaded", "masked"):
            raise StepError("There is no service %s on this host (systemd says: %s)" % (name, unit.get("LoadState")))
        states[name] = unit.get("ActiveState", "unknown")
    return states


def _properties(block):
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
