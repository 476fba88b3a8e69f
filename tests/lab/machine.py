# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One machine of the lab: a booted systemd in a container, with power, a cable and a disk of its own."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from lab import image, network
from lab.cgroups import Group
from lab.names import BALANCER, LOGS, MACHINES, WEB, WORK, Place, program
from lab.shell import run, wait_until

FILES = Path(__file__).parent / "files"
PLATFORM_LOG = LOGS / "platform.jsonl"
REBOOT_SIGNAL = signal.SIGRTMIN + 5
KEYS = WORK / "keys"


class Machine:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.name = place.name
        self.folder = WORK / "machines" / place.name
        self.root = self.folder / "root"
        self.group = Group(place.name)
        self._switch = self.folder / "power"

    # -- built and taken apart

    def build(self) -> None:
        """A fresh disk: the image below, what this machine changes above."""
        self.take_apart()
        for name in ("upper", "work", "root"):
            (self.folder / name).mkdir(parents=True)
        layers = f"lowerdir={image.path()},upperdir={self.folder / 'upper'},workdir={self.folder / 'work'}"
        run("mount", "-t", "overlay", self.place.namespace, "-o", layers, self.root)
        image.furnish(self.root)
        self.write("etc/hostname", f"{self.name}\n")
        hosts = "".join(f"{place.address} {place.name}\n" for place in MACHINES)
        self.write("etc/hosts", f"127.0.0.1 localhost\n{hosts}")
        self.write("etc/machine-id", f"{self.place.number:032x}\n")
        self.write(f"home/{image.USER}/.ssh/authorized_keys", (KEYS / "user.pub").read_text())
        self.write("etc/ssh/ssh_host_ed25519_key", (KEYS / self.name).read_text(), 0o600)
        for kind in ("rsa", "ecdsa"):
            (self.root / f"etc/ssh/ssh_host_{kind}_key").unlink(missing_ok=True)
        if self.place is BALANCER:
            servers = "".join(f"    server {place.name} {place.address}:80\n" for place in WEB)
            self.write("etc/haproxy/haproxy.cfg", (FILES / "haproxy.cfg").read_text() + servers)
            self.enable("haproxy")
        else:
            self.write("etc/nginx/sites-enabled/lab", (FILES / "nginx-site.conf").read_text())
            self.write("srv/www/index.html", f"{self.name}\n" * 100)
            self.write("srv/www/healthz", "ok\n")
            self.write("srv/www/slow", "0123456789abcdef" * 8192)
            self.enable("nginx")

    def take_apart(self) -> None:
        self.turn_off()
        if self.root.is_mount():
            run("umount", self.root)
        for name in ("upper", "work", "root"):
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def enable(self, unit: str) -> None:
        run("systemctl", f"--root={self.root}", "enable", unit)

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    # -- power and cable

    def start_lock_host(self) -> None:
        """The process that boots the machine whenever its power is on; it outlives us."""
        with (LOGS / f"{self.name}.console").open("ab") as log:
            Group("lock_hosts").start(program("lock_host", self.name), stdout=log, stderr=log)

    @property
    def has_power(self) -> bool:
        return self._switch.exists()

    def turn_on(self) -> None:
        self._switch.touch()

    def turn_off(self) -> None:
        """As if the plug was pulled: nothing inside is told, and nothing leaves any more."""
        self._switch.unlink(missing_ok=True)
        if self.group.path.exists():
            with contextlib.suppress(RuntimeError):  # no network any more
                network.plug(self.place, False)
            self.group.kill()

    def shut_down(self) -> None:
        """As the platform does it for Reboot: the guest is told to, and gets the time that it takes."""
        self._switch.unlink(missing_ok=True)

        def is_off() -> bool:
            process = self.pid1()
            if process:
                # Told again and again, as a machine that has only begun to boot does not listen yet.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, REBOOT_SIGNAL)
            return not self.group.processes()

        wait_until(is_off, f"{self.name} is off", 120, 0.5)

    def freeze(self, seconds: float) -> None:
        """For so long it neither computes nor hears anything, and then goes on as if nothing had been."""
        network.plug(self.place, False)
        self.group.freeze(True)
        try:
            time.sleep(seconds)
        finally:
            self.group.freeze(False)
            network.plug(self.place, True)

    def run_once(self) -> int:
        """One boot, from power on to the end of the container; gives its exit code. Called by the lock host."""
        self.group.remove()
        network.plug(self.place, True)
        container = self.group.start(
            [
                "systemd-nspawn",
                "--quiet",
                "--register=no",
                "--keep-unit",
                "--console=pipe",
                f"--machine={self.place.namespace}",
                f"--hostname={self.name}",
                f"--directory={self.root}",
                f"--network-namespace-path=/run/netns/{self.place.namespace}",
                "--resolv-conf=off",
                "--timezone=off",
                "--link-journal=no",
                "--boot",
            ]
        )
        if not self.has_power:  # any more
            self.group.kill()
        note(machine=self.name, what="boot")
        code = container.wait()
        note(machine=self.name, what="end", code=code)
        with contextlib.suppress(RuntimeError):
            network.plug(self.place, False)
        return code

    # -- inside

    def pid1(self) -> int | None:
        """The container's first process, as the machine outside counts."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            return int((self.group.path / "payload/init.scope/cgroup.procs").read_text().split()[0])
        return None

    def inner_path(self, name: str) -> Path:
        """A file as the machine sees it, /run and /tmp too."""
        return Path(f"/proc/{self.pid1()}/root/{name}")

    def run(self, *command: str, timeout: float = 60) -> str:
        """A command inside, as root on the console would give it."""
        return run("nsenter", f"--target={self.pid1()}", "--all", *command, timeout=timeout)

    def is_up(self) -> bool:
        """All units of this boot are started, or have failed."""
        if not self.pid1():
            return False
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            self.run("systemctl", "is-system-running", timeout=10)
            return True
        return False

    def wait_until_up(self, timeout: float = 120) -> None:
        wait_until(self.is_up, f"{self.name} has booted: {self._state()}", timeout, 0.2)

    def _state(self) -> str:
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired):
            return self.run("systemctl", "list-units", "--failed", "--no-legend", timeout=10)
        return "no answer"


def note(**about: Any) -> None:
    """A line in the log of the platform: what it did to a machine, and when."""
    with PLATFORM_LOG.open("a") as log:
        log.write(json.dumps({"time": time.time(), **about}) + "\n")
