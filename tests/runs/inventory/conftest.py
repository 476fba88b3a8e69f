# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder with inventory files, and what the real commands make of them."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import pytest
from helpers.ansible_run import Run, inventory, run

PLUGIN = "maintenance.azure.scheduled_events"


def plain(value: Any) -> Any:
    """Data of `ansible-inventory --list` without the marks that it puts on untrusted text."""
    if isinstance(value, dict):
        return (
            value["__ansible_unsafe"] if set(value) == {"__ansible_unsafe"} else {k: plain(v) for k, v in value.items()}
        )
    return [plain(item) for item in value] if isinstance(value, list) else value


@dataclasses.dataclass
class Listing:
    code: int
    # What was said, on one line: ansible-core before 2.19 breaks lines as it likes.
    said: str
    data: dict[str, Any]
    # As it was printed, with the marks that Ansible puts on text.
    text: str = ""

    def hosts(self, group: str) -> list[str]:
        return sorted(self.data.get(f"maintenance_{group}", {}).get("hosts", []))

    def states(self) -> dict[str, list[str]]:
        return {group: self.hosts(group) for group in ("pending", "started", "clear", "unknown")}

    def status(self, host: str) -> dict[str, Any]:
        return self.data["_meta"]["hostvars"][host]["maintenance_status"]


class Place:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources: list[str] = []

    def hosts(self, hosts: dict[str, dict[str, Any]]) -> Place:
        self.sources = [str(inventory(self.folder, hosts))]
        return self

    def config(self, name: str = "scheduled_events.yml", **options: Any) -> str:
        path = self.folder / name
        path.write_text(json.dumps({"plugin": PLUGIN, **options}))
        return str(path)

    def run(self, *command: str, **settings: str) -> Run:
        sources = [word for source in self.sources for word in ("-i", source)]
        return run(self.folder, [command[0], *sources, "-i", "scheduled_events.yml", *command[1:]], **settings)

    def list(self, *arguments: str, environment: dict[str, str] | None = None, **options: Any) -> Listing:
        """`ansible-inventory --list --export` with a configuration of these options."""
        self.config(**options)
        return self.list_again(*arguments, environment=environment)

    def list_again(self, *arguments: str, environment: dict[str, str] | None = None) -> Listing:
        out = self.folder / "listing.json"
        out.unlink(missing_ok=True)
        done = self.run(
            "ansible-inventory", "--list", "--export", "--output", str(out), *arguments, **environment or {}
        )
        text = out.read_text() if out.exists() else "{}"
        return Listing(done.code, " ".join(done.output.split()), plain(json.loads(text)), text)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="session")
def event():
    """Makes events as they are in an event document."""

    def make(*names: str, **more: Any) -> dict[str, Any]:
        due = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(time.time() + 900))
        return {
            "EventId": "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
            "EventType": "Reboot",
            "EventStatus": "Scheduled",
            "ResourceType": "VirtualMachine",
            "Resources": list(names),
            "NotBefore": due,
            "Description": "Host server is undergoing maintenance.",
            "EventSource": "Platform",
            "DurationInSeconds": 5,
            **more,
        }

    return make
