# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: a simulated fleet, read by real ansible-playbook. Run by `make demo`; stops what it starts."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

DEMO = Path(__file__).resolve().parent
SCRATCH = DEMO.parent / ".build" / "demo"
SIMULATOR = DEMO.parent / "roles" / "simulator" / "files" / "metadata_simulator.py"


@contextlib.contextmanager
def simulator(fleet: Path) -> Iterator[dict[str, str]]:
    """Start the simulator and give the endpoint of every VM."""
    command = [sys.executable, str(SIMULATOR), "--fleet", str(fleet), "--port", "0", "--stop-with-stdin"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        endpoints = {}
        for line in process.stdout:
            word, _space, rest = line.strip().partition(" ")
            if word == "vm":
                name, _space, url = rest.rpartition(" ")
                endpoints[name] = url
            if word == "ready":
                break
        else:
            sys.exit("The simulator did not start: see its message above.")
        try:
            yield endpoints
        finally:
            process.terminate()


def inventory(folder: Path, endpoints: dict[str, str]) -> Path:
    """All VMs are this machine; what tells them apart is the metadata service that they ask."""
    hosts = {name: {"maintenance_endpoint": url} for name, url in endpoints.items()}
    everywhere = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    path = folder / "hosts.json"
    path.write_text(json.dumps({"all": {"hosts": hosts, "vars": everywhere}}))
    return path


def say(text: str) -> None:
    print(f"\n== {text}\n", flush=True)


def main() -> int:
    settings = {**os.environ, "ANSIBLE_DEPRECATION_WARNINGS": "0", "ANSIBLE_LOCALHOST_WARNING": "0"}
    SCRATCH.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SCRATCH) as folder, simulator(DEMO / "fleet.json") as endpoints:
        say(f"{len(endpoints)} simulated VMs, each with a metadata service of its own:")
        for name, url in endpoints.items():
            print(f"   {name:10} {url}")
        say("Ansible asks each of them what Azure has planned")
        table = Path(folder, "table.txt")
        command = ["ansible-playbook", "-i", str(inventory(Path(folder), endpoints)), "-e", f"table={table}"]
        code = subprocess.call([*command, str(DEMO / "read_fleet.yml")], env=settings)
        if code == 0:
            say("What came back")
            print(table.read_text())
    say("The simulator is stopped, nothing is left running. Next: README.md")
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
