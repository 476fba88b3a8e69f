# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Boots one machine whenever its power is on, as often as it takes; ended by `make lab-down` only."""

from __future__ import annotations

import sys
import time

from lab.machine import Machine
from lab.names import MACHINES

REBOOT = 133


def keep(machine: Machine) -> None:
    while True:
        if machine.has_power:
            began = time.monotonic()
            code = machine.run_once()
            if code != REBOOT and time.monotonic() - began < 1:
                time.sleep(1)
        time.sleep(0.02)


if __name__ == "__main__":
    keep(Machine(next(place for place in MACHINES if place.name == sys.argv[1])))
