# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows machine that is a folder of this one: its disk, its boots, and a record of all that was asked of it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

ADMINISTRATORS = "S-1-5-32-544"
SYSTEM = "S-1-5-18"
# The user that Ansible connects as, and one that has nothing to say here.
ME = "S-1-5-21-1-2-3-500"
SOMEBODY = "S-1-5-21-1-2-3-1001"


class Machine:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.disk = folder / "disk"
        self.disk.mkdir(parents=True, exist_ok=True)

    # Its disk.

    def real(self, path: str) -> Path:
        """Where a path of Windows is kept here: without regard to case, as there."""
        if path.startswith(f"{self.disk}/"):
            return Path(path)
        parts = [part for part in re.split(r"[\\/]+", path) if part]
        return self.disk.joinpath(*(part.rstrip(":").lower() for part in parts))

    def text(self, path: str) -> str | None:
        real = self.real(path)
        return real.read_text(encoding="utf-8") if real.is_file() else None

    def write(self, path: str, text: str, owner: str = ADMINISTRATORS) -> None:
        self.real(path).parent.mkdir(parents=True, exist_ok=True)
        self.real(path).write_text(text, encoding="utf-8")
        self.set_owner(path, owner)

    def make_folder(self, path: str, owner: str) -> None:
        self.real(path).mkdir(parents=True, exist_ok=True)
        self.set_owner(path, owner)

    def owner(self, path: str) -> str:
        owners: dict[str, str] = self._kept("owners", {})
        return owners.get(str(self.real(path)), ADMINISTRATORS)

    def set_owner(self, path: str, owner: str) -> None:
        if self.owner(path) != owner:
            self._keep("owners", {**self._kept("owners", {}), str(self.real(path)): owner})

    def is_trusted(self, path: str) -> bool:
        return self.owner(path) in (ADMINISTRATORS, SYSTEM, ME)

    # Its boots.

    def boot_count(self) -> int | None:
        count: int | None = self._boot()["count"]
        return count

    def uptime(self) -> float:
        return time.monotonic() - float(self._boot()["at"])

    def reboot(self, counts: bool = True) -> None:
        """It was away for a while, and counts its boots or not."""
        count = self.boot_count()
        self._keep("boot", {"count": (count or 0) + 1 if counts else None, "at": time.monotonic()})

    def is_up_for(self, seconds: float, counts: bool = True) -> None:
        self._keep("boot", {"count": 7 if counts else None, "at": time.monotonic() - seconds})

    def _boot(self) -> dict[str, Any]:
        boot: dict[str, Any] = self._kept("boot", {})
        if not boot:
            self.is_up_for(3000)
            boot = self._kept("boot", {})
        return boot

    # What was asked of it, and what goes wrong.

    def note(self, module: str, arguments: dict[str, Any], answer: dict[str, Any]) -> None:
        line = {"at": time.time(), "module": module, "arguments": arguments, "answer": answer}
        with (self.folder / "calls.jsonl").open("a", encoding="utf-8") as calls:
            calls.write(json.dumps(line) + "\n")

    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def forget_calls(self) -> None:
        (self.folder / "calls.jsonl").unlink(missing_ok=True)

    def has_trouble(self, **trouble: Any) -> None:
        """`lie`: goes into each answer. `lose`: the answer to a call with this action is lost, so many times."""
        self._keep("trouble", trouble)

    def trouble(self) -> dict[str, Any]:
        found: dict[str, Any] = self._kept("trouble", {})
        return found

    # Its services: name -> started or stopped.

    def services(self) -> dict[str, str]:
        found: dict[str, str] = self._kept("services", {})
        return found

    def set_services(self, **states: str) -> None:
        self._keep("services", {**self.services(), **states})

    def _kept(self, name: str, default: Any) -> Any:
        path = self.folder / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else default

    def _keep(self, name: str, data: Any) -> None:
        fresh = self.folder / f"{name}.new"
        fresh.write_text(json.dumps(data), encoding="utf-8")
        fresh.replace(self.folder / f"{name}.json")
