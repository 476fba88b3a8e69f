# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make lab-up` and `make lab-down`."""

from __future__ import annotations

import fcntl
import sys
from typing import IO

from lab import controller, fleet, requirements
from lab.names import WORK

HOW_TO = """
The fleet is up: {machines}. Events strike the machines as Azure's do.

Log in          {inside} ssh -F {ssh_config} web-0
Plan an event   curl -s {control}/events -d '{{"type":"Reboot","resources":["vm-web-0","vm-web-3"]}}'
Look            {inside} ansible-playbook {book} -e maintenance_hosts=web --check
Run            {inside} ansible-playbook {book} -e maintenance_hosts=web
Watch           tail -f {answers}
Take it down    make lab-down
"""


def lock() -> IO[str]:
    """One lab at a time in a clone; given back when the process ends, however it does."""
    WORK.mkdir(parents=True, exist_ok=True)
    file = (WORK / "lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        sys.exit("A lab of this clone is at work already: let it end, or end it, and try again.")
    return file


def up() -> None:
    lab = fleet.Fleet()
    lab.up()
    names = ", ".join(lab.machines)
    print(
        HOW_TO.format(
            machines=names,
            inside=controller.IN_LAB,
            ssh_config=controller.SSH_CONFIG,
            control=fleet.CONTROL.read_text(),
            book=controller.BOOK,
            answers=fleet.ANSWERS,
        )
    )


def down() -> None:
    fleet.down()
    left = fleet.left_behind()
    if left:
        sys.exit(f"Still there: {', '.join(left)}")
    print("Nothing of the lab is left but its image and logs, in .build/lab.")


if __name__ == "__main__":
    why = requirements.missing()
    if why:
        sys.exit(why)
    with lock():
        {"up": up, "down": down}[sys.argv[1]]()
