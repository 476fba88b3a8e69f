# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller of a user: ansible-core, the collection installed from its tarball, an inventory, ssh.

It sits in the network of the lab, beside the client. No setting is for the lab: the endpoint is the default one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from lab import image, network
from lab.cgroups import Group
from lab.machine import KEYS
from lab.names import BALANCER, CLONE, LOGS, MACHINES, OUTSIDE, PREFIX, WEB, WORK, Place
from lab.shell import run as run_here

HOME = WORK / "controller"
IN_LAB = WORK / "in-lab"
SSH_CONFIG = WORK / "ssh_config"
BOOK = "maintenance.azure.drain_then_approve"
STEPS: list[dict[str, Any]] = [
    {"log": {"message": "draining for {{ maintenance_event.type }}", "restore_message": "back in service"}},
    {
        "load_balancer": {
            "haproxy": {
                "backend": "web",
                "server": "{{ inventory_hostname }}",
                "host": "lb1",
                "wait_sessions": 0,
                # A run that is killed in this step counts as at work until then; the next one waits 45 s for it.
                "timeout": 20,
            }
        }
    },
    {"connections": {"ports": [80], "at_most": 0, "timeout": 60}},
    {"services": {"names": ["nginx"]}},
]
HEALTH: list[dict[str, Any]] = [{"service": "nginx"}, {"uri": {"url": "http://127.0.0.1/healthz", "contains": "ok"}}]


def make_keys() -> None:
    for name in ["user", *(place.name for place in MACHINES)]:
        if not (KEYS / name).exists():
            KEYS.mkdir(parents=True, exist_ok=True)
            run_here("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", KEYS / name)


def install() -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    (HOME / ".ssh").mkdir(parents=True, mode=0o700)
    collection = CLONE / ".build/ansible_collections/maintenance/azure"
    run_here("ansible-galaxy", "collection", "build", collection, "--output-path", HOME, timeout=600)
    installed = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(HOME / "installed")}
    run_here("ansible-galaxy", "collection", "install", *HOME.glob("*.tar.gz"), "--offline", env=installed, timeout=600)
    known = [f"{place.address} {(KEYS / f'{place.name}.pub').read_text()}" for place in MACHINES]
    known_hosts = HOME / ".ssh/known_hosts"
    known_hosts.write_text("".join(known))
    (HOME / "hosts.json").write_text(json.dumps(inventory(), indent=2))
    (HOME / "ansible.cfg").write_text(
        "[defaults]\n"
        f"inventory = {HOME / 'hosts.json'}\n"
        f"remote_user = {image.USER}\n"
        f"private_key_file = {KEYS / 'user'}\n"
        "[ssh_connection]\n"
        "pipelining = true\n"
        f"ssh_common_args = -o UserKnownHostsFile={known_hosts}\n"
        # A control socket has to have a short name, and the clone may lie anywhere.
        f"control_path_dir = /run/{PREFIX}\n"
    )
    hosts = [f"Host {place.name}\n  HostName {place.address}\n" for place in MACHINES]
    hosts.append(f"Host *\n  User {image.USER}\n  IdentityFile {KEYS / 'user'}\n  UserKnownHostsFile {known_hosts}\n")
    SSH_CONFIG.write_text("".join(hosts))
    words = [*network.inside(OUTSIDE), "env", *(f"{name}={value}" for name, value in _environment().items())]
    IN_LAB.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    IN_LAB.chmod(0o755)


def inventory() -> dict[str, Any]:
    def group(*places: Place, **variables: Any) -> dict[str, Any]:
        return {"hosts": {place.name: {"ansible_host": place.address} for place in places}, "vars": variables}

    web = group(*WEB, drain_steps=STEPS, restore_health=HEALTH)
    for place in WEB:
        web["hosts"][place.name]["maintenance_vm_name"] = place.vm_name
    return {"all": {"vars": {"ansible_become": True}, "children": {"web": web, "balancers": group(BALANCER)}}}


def _environment() -> dict[str, str]:
    return {
        "HOME": str(HOME),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/sbin", "/usr/bin", "/sbin", "/bin"]),
        "ANSIBLE_CONFIG": str(HOME / "ansible.cfg"),
        "ANSIBLE_COLLECTIONS_PATH": str(HOME / "installed"),
        "ANSIBLE_HOME": str(HOME / ".ansible"),
        "ANSIBLE_NOCOLOR": "1",
        "PYTHONUNBUFFERED": "1",
        "LC_ALL": "C.UTF-8",
    }


@dataclasses.dataclass
class Run:
    """A run of a playbook, under way or over."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def is_over(self) -> bool:
        return self.process.poll() is not None

    def wait(self, timeout: float = 600) -> Run:
        """Until it is over; a run that takes too long is killed and is a failure."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill_all()
            raise AssertionError(f"the run took more than {timeout:.0f} s:\n{self.output[-3000:]}") from None
        return self

    @property
    def code(self) -> int:
        return self.process.returncode

    def kill(self) -> None:
        """SIGKILL for what an operator sees and kills: the command and its process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def kill_all(self) -> None:
        """SIGKILL for all that the controller runs, its ssh connections too: the controller's machine is gone."""
        Group("controller").kill()
        self.process.wait()


def start(name: str, *arguments: str, book: str = BOOK, **variables: Any) -> Run:
    """Start a playbook; more keywords are extra variables."""
    # In the order in which they were begun.
    log = LOGS / f"{len(list(LOGS.glob('*.play'))):03}-{name}.play"
    extra = json.dumps({"maintenance_hosts": "web", **variables})
    command = [str(IN_LAB), "ansible-playbook", book, "--extra-vars", extra, *arguments]
    with log.open("wb") as file:
        process = Group("controller").start(command, cwd=HOME, stdout=file, stderr=file)
    return Run(process, log)


def run(name: str, *arguments: str, timeout: float = 600, **more: Any) -> Run:
    return start(name, *arguments, **more).wait(timeout)
