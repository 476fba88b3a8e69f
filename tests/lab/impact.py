# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an event does to the machines that it names; run by the simulator when the event starts.

Like Azure's host it tells nobody: the event is over for the metadata service when the machines are on again, whether
their systemd has come up or not.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable

from helpers.simulator_process import ControlError, SimulatorControl
from lab.machine import Machine, note
from lab.names import NAME_OF_VM, WEB, WORK


def reboot(machine: Machine) -> None:
    machine.shut_down()
    _stay_off(machine)


def redeploy(machine: Machine) -> None:
    """To another host: no farewell, and what was on the temporary disk is lost."""
    machine.turn_off()
    shutil.rmtree(machine.root / "mnt", ignore_errors=True)
    _stay_off(machine)


def _stay_off(machine: Machine) -> None:
    time.sleep(impact_seconds())
    machine.turn_on()


def freeze(machine: Machine) -> None:
    machine.freeze(impact_seconds())


def impact_seconds() -> float:
    """How long the machine is off or frozen, as the simulator's own impact would be."""
    return float(os.environ["SIM_IMPACT_SECONDS"])


def take_away(machine: Machine) -> None:
    machine.turn_off()


IMPACTS: dict[str, Callable[[Machine], None]] = {
    "Reboot": reboot,
    "Redeploy": redeploy,
    "Freeze": freeze,
    "Preempt": take_away,
    "Terminate": take_away,
}


def strike(machine: Machine, event_id: str, kind: str) -> None:
    note(machine=machine.name, what=f"{kind} begins", event=event_id)
    IMPACTS[kind](machine)
    note(machine=machine.name, what=f"{kind} ends", event=event_id)


def main() -> None:
    event_id, kind = os.environ["SIM_EVENT_ID"], os.environ["SIM_EVENT_TYPE"]
    named = {NAME_OF_VM.get(vm) for vm in os.environ["SIM_RESOURCES"].split(",")}
    machines = [Machine(place) for place in WEB if place.name in named]
    struck = [threading.Thread(target=strike, args=(machine, event_id, kind)) for machine in machines]
    for thread in struck:
        thread.start()
    for thread in struck:
        thread.join()
    with contextlib.suppress(ControlError):  # it may have been ended by hand
        SimulatorControl((WORK / "control").read_text()).finish(event_id)


if __name__ == "__main__":
    main()
