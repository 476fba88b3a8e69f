# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this run has last seen on a Windows host: its clock, its files, what its service said.

A call costs some 2 s there. So what is written is decided on what was seen last, and goes to the host together with the
question whether it is still so. Where it is not, the host does nothing, and all is looked at anew.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import typing as t
from pathlib import Path


class LastSeen:
    """Lives in a folder of the run, as each task is a process of its own."""

    def __init__(self, run_folder: str | Path, host: str) -> None:
        name = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.file = Path(run_folder) / "azure-windows" / name
        self._kept = self._read()

    def _read(self) -> dict[str, t.Any]:
        try:
            kept = json.loads(self.file.read_text(encoding="ascii"))
            return kept if isinstance(kept, dict) else {}
        except (OSError, ValueError):
            return {}

    def clock(self) -> tuple[int | None, float, float] | None:
        """The count of boots, the uptime, and when that was heard by this machine's own uptime."""
        found = self._kept.get("clock")
        return (found[0], found[1], found[2]) if found else None

    def knows(self, place: str) -> bool:
        return place in self._kept.get("contents", {})

    def content(self, place: str) -> bytes | None:
        """What a file held, or a service answered; `place` is a path or an address."""
        found = self._kept["contents"][place]
        return None if found is None else base64.b64decode(found)

    def learn(self, clock: tuple[int | None, float, float], contents: t.Mapping[str, bytes | None]) -> None:
        texts = {name: None if one is None else base64.b64encode(one).decode() for name, one in contents.items()}
        self._kept = {"clock": clock, "contents": {**self._read().get("contents", {}), **texts}}
        self.file.parent.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.file.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(self._kept, file)
        Path(name).replace(self.file)
