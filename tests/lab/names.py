# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the lab of this clone is called, and where it lies.

Namespaces, cgroups and machines carry a prefix made of the clone's path: labs of several clones don't meet, and what a
killed run left behind is found by its name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
CLONE = TESTS.parent
WORK = CLONE / ".build" / "lab"
LOGS = WORK / "logs"
PREFIX = "azlab-" + hashlib.sha256(str(CLONE).encode()).hexdigest()[:6]
METADATA_ADDRESS = "169.254.169.254"
DOMAINS = 3


@dataclasses.dataclass(frozen=True)
class Place:
    """A machine's name in the inventory and its place in the network."""

    name: str
    number: int

    @property
    def address(self) -> str:
        return f"10.86.0.{self.number}"

    @property
    def mac(self) -> str:
        return f"02:00:0a:56:00:{self.number:02x}"

    @property
    def namespace(self) -> str:
        return f"{PREFIX}-{self.name}"

    @property
    def host_namespace(self) -> str:
        return f"{self.namespace}-host"

    @property
    def vm_name(self) -> str:
        """What Azure calls it: another name than the inventory's, as it often is."""
        return f"vm-{self.name}"

    @property
    def domain(self) -> str:
        return str((self.number - WEB[0].number) % DOMAINS)


# The bridge, the client and the controller.
OUTSIDE = Place("net", 1)
BALANCER = Place("lb1", 2)
WEB = [Place(f"web-{number}", 10 + number) for number in range(6)]
MACHINES = [*WEB, BALANCER]
DOMAIN_OF = {place.name: place.domain for place in WEB}
NAME_OF_VM = {place.vm_name: place.name for place in WEB}


def program(module: str, *arguments: str) -> list[str]:
    """The command that runs a program of the lab, whatever the environment."""
    return ["env", f"PYTHONPATH={TESTS}", sys.executable, "-m", f"lab.{module}", *arguments]
