# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole lab: built, started, put back to its standard state between scenarios, and taken down."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import sys
from pathlib import Path

from helpers.simulator_process import PROGRAM, SimulatorControl
from lab import controller, haproxy, image, network
from lab.cgroups import Group
from lab.machine import PLATFORM_LOG, Machine
from lab.names import BALANCER, LOGS, MACHINES, METADATA_ADDRESS, OUTSIDE, PREFIX, WEB, WORK, program
from lab.shell import run, wait_until

ANSWERS = LOGS / "client.answers"
CONTROL = WORK / "control"
# What a run leaves on a host, and a fresh machine does not have.
TRACES = "var/lib/azure-maintenance"


class Fleet:
    def __init__(self) -> None:
        self.machines = {place.name: Machine(place) for place in MACHINES}
        self.web = [self.machines[place.name] for place in WEB]
        self.balancer = self.machines[BALANCER.name]

    @property
    def simulator(self) -> SimulatorControl:
        return SimulatorControl(CONTROL.read_text())

    # -- up and down

    def up(self) -> None:
        down()
        image.make()
        shutil.rmtree(LOGS, ignore_errors=True)
        LOGS.mkdir(parents=True)
        PLATFORM_LOG.touch()
        Path(f"/run/{PREFIX}").mkdir(mode=0o700)
        controller.make_keys()
        network.up()
        for machine in self.machines.values():
            machine.build()
            machine.turn_on()
            machine.start_lock_host()
        self._start_simulator()
        controller.install()
        for machine in self.machines.values():
            machine.wait_until_up()
        self.wait_until_in_service()
        self._start_client()

    def _start_simulator(self) -> None:
        vms = [
            {
                "name": place.vm_name,
                "group": "web",
                "update_domain": place.domain,
                "address": METADATA_ADDRESS,
                "port": 80,
                "network_namespace": f"/run/netns/{place.host_namespace}",
            }
            for place in WEB
        ]
        document = WORK / "fleet.json"
        document.write_text(json.dumps({"groups": {"web": {"kind": "availability_set"}}, "vms": vms}, indent=2))
        said = LOGS / "simulator.out"
        # Without impact of its own: the machines go down, and a machine that is down asks nobody.
        command = [sys.executable, str(PROGRAM), "--fleet", str(document), "--profile", "quick"]
        command += ["--on-start", shlex.join(program("impact"))]
        with said.open("wb") as out, (LOGS / "simulator.err").open("wb") as errors:
            Group("simulator").start(command, stdout=out, stderr=errors)
        wait_until(lambda: "ready\n" in said.read_text(), "the simulator is ready", 60)
        CONTROL.write_text(
            next(line.split()[1] for line in said.read_text().splitlines() if line.startswith("control "))
        )

    def _start_client(self) -> None:
        with (LOGS / "client.err").open("wb") as errors:
            command = [*network.inside(OUTSIDE), *program("client", str(ANSWERS))]
            Group("client").start(command, stdout=errors, stderr=errors)

    # -- between scenarios

    def settle(self) -> None:
        """The standard state: every machine up, clean and in service, nothing planned, nothing at work."""
        Group("controller").kill()
        # An event under way ends before the simulator forgets it.
        wait_until(lambda: not self._impacts(), "no event is at work on a machine", 180)
        self.simulator.reset()
        rebuilt = [machine for machine in self.web if not machine.has_power or not machine.is_up()]
        for machine in rebuilt:
            machine.build()
            machine.turn_on()
        for machine in self.web:
            machine.wait_until_up()
            shutil.rmtree(machine.root / TRACES, ignore_errors=True)
            machine.run("systemctl", "start", "nginx")
        for machine in self.web:
            haproxy.ask(self.balancer, f"set server {haproxy.BACKEND}/{machine.name} state ready")
        self.wait_until_in_service()

    def _impacts(self) -> list[int]:
        simulator = Group("simulator").processes()
        return [process for process in simulator if "\0lab.impact" in _command(process)]

    def wait_until_in_service(self, timeout: float = 120) -> None:
        names = {place.name for place in WEB}

        def all_in() -> bool:
            with contextlib.suppress(OSError):
                return haproxy.in_service(self.balancer) == names
            return False

        wait_until(all_in, "every web server is in service", timeout, 0.2)


def _command(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text()
    return ""


def mounts() -> list[str]:
    """What is mounted in the lab, the innermost first."""
    places = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return sorted((place for place in places if place.startswith(f"{WORK}/")), reverse=True)


def down() -> None:
    """Remove all that runs or is held by the kernel, also what a killed run left; files that are worth keeping stay."""
    everything = Group()
    # A lock host may be about to boot a machine: until a second look finds nobody.
    wait_until(lambda: everything.kill() or not everything.processes(), "all processes of the lab are gone", 60)
    for place in mounts():
        run("umount", place)
    network.down()
    everything.remove()
    shutil.rmtree(WORK / "machines", ignore_errors=True)
    shutil.rmtree(f"/run/{PREFIX}", ignore_errors=True)
    for leftover in Path("/run/systemd/nspawn").glob(f"*/*{PREFIX}-*"):
        shutil.rmtree(leftover, ignore_errors=True)
        leftover.unlink(missing_ok=True)
    for stale in (controller.IN_LAB, CONTROL):
        stale.unlink(missing_ok=True)


def left_behind() -> list[str]:
    """What there is of the lab: nothing after `down`."""
    found = [f"process {process}" for process in Group().processes()]
    found += [f"mount {place}" for place in mounts()]
    found += [f"namespace {name}" for name in network.namespaces()]
    found += [f"cgroup {path}" for path in Path("/sys/fs/cgroup").glob(f"**/{PREFIX}")]
    return found + [f"file {path}" for path in Path("/run").glob(f"**/*{PREFIX}*")]
