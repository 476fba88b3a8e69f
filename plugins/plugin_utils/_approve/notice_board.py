# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts of one task have told the user, so that a hundred of them do not all say the same."""

from __future__ import annotations

import fcntl
import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path

SECONDS_BETWEEN_NOTICES = 30


class NoticeBoard:
    """Lives in a folder of the run, as the hosts of a task are processes of their own."""

    def __init__(self, run_folder: str | Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = Path(run_folder) / "azure-notices"
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.clock = clock

    def is_news(self, subject: str, notice: str) -> bool:
        """Whether to tell this: nobody has told it yet, or nothing was told about the subject for a while."""
        name = hashlib.sha256(subject.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        with (self.folder / name).open("a+", encoding="utf-8") as board:
            fcntl.flock(board, fcntl.LOCK_EX)
            board.seek(0)
            told = json.loads(board.read() or '{"at": 0, "notices": []}')
            if notice in told["notices"] and self.clock() - told["at"] < SECONDS_BETWEEN_NOTICES:
                return False
            board.truncate(0)
            json.dump({"at": self.clock(), "notices": [*told["notices"], notice][-20:]}, board)
            return True
