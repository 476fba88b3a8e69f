# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file in which hosts and events outlive a restart of the source."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import Now
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import Ledger
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.memory import take_up, to_keep

SECONDS_BETWEEN_WRITES = 2
# What changes with each notice, whose time and sequence, may be so old.
SECONDS_BETWEEN_ALL = 30

_logger = logging.getLogger(__name__)


class StateFile:
    def __init__(self, path: str, ledger: Ledger) -> None:
        self.path = Path(path).expanduser()
        self.ledger = ledger
        self._written_changes = -1
        self._written_at = float("-inf")

    def load(self, now: Now, endpoints: tuple[str, ...] = ()) -> None:
        """Where there is none this is the first start. One that can't be read is told in the log."""
        try:
            take_up(self.ledger, json.loads(self.path.read_text(encoding="utf-8")), now, endpoints)
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            _logger.warning("%s can't be used, so that no host is known yet: %s", self.path, error)

    async def write_if_due(self, now: Now) -> None:
        age = now.steady - self._written_at
        has_changed = self.ledger.changes != self._written_changes
        if age >= SECONDS_BETWEEN_ALL or (has_changed and age >= SECONDS_BETWEEN_WRITES):
            await self.write(now)

    async def write(self, now: Now) -> None:
        self._written_at, self._written_changes = now.steady, self.ledger.changes
        data = json.dumps(to_keep(self.ledger))
        # A disk may take its time, and notices must not wait for it.
        await asyncio.get_running_loop().run_in_executor(None, self._replace, data)

    def _replace(self, data: str) -> None:
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Only its owner reads who is in the fleet.
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as state_file:
                state_file.write(data)
                state_file.flush()
                os.fsync(state_file.fileno())
            fresh.replace(self.path)
        except OSError as error:
            _logger.warning("%s could not be written: %s", self.path, error.strerror or error)
