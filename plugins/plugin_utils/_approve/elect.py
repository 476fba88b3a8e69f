# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who sends an approval: what the hosts of one run tell each other.

The hosts of a batch are separate processes on one controller, and with few forks not at the same time. So nobody
waits for a host that has not begun: the first that comes to an event leads, and what it did is kept in files in
the run's own temporary folder, which Ansible removes when the run ends.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import fcntl
import hashlib
import json
import os
import time
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.judge import EventRecord
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import canonical_id

SECONDS_BETWEEN_LOOKS = 0.02
# No event has an empty id.
ANY_EVENT = ""


class Occupied(Exception):
    """Another host is at work on this event for longer than we can wait."""


class Election:
    """The records of one run; a prediction (check mode) has records of its own."""

    def __init__(self, run_folder: str | Path, prediction: bool) -> None:
        self.folder = Path(run_folder) / ("azure-approvals-predicted" if prediction else "azure-approvals")
        self.folder.mkdir(mode=0o700, exist_ok=True)

    @contextlib.contextmanager
    def turn(self, event_ids: Sequence[str], seconds: float) -> Iterator[dict[str, EventRecord]]:
        """Have these events for ourselves; changes to the records are kept when the block ends.

        The locks are the kernel's: a process that dies gives its own back. Who waits does so for as long as others get
        on with it: each that gives way leaves a mark.
        """
        began = time.time()
        with contextlib.ExitStack() as locks:
            # Always in the same order, so that two hosts with two events never wait for each other.
            for event_id in sorted(set(map(canonical_id, event_ids))):
                path = self._path(event_id)
                handle = locks.enter_context(path.with_suffix(".lock").open("a"))
                _lock(handle.fileno(), path, began, seconds)
            records = {canonical_id(event_id): self.record(event_id) for event_id in event_ids}
            try:
                yield records
            finally:
                self.keep(records)

    def keep(self, records: dict[str, EventRecord]) -> None:
        """Write records down at once, for the case that this process does not live to see its turn end."""
        for event_id, record in records.items():
            self._keep(event_id, record)

    def record(self, event_id: str) -> EventRecord:
        try:
            return EventRecord(**json.loads(self._path(event_id).read_text(encoding="utf-8")))
        except FileNotFoundError:
            return EventRecord()

    def not_sent(self, marks: Iterable[Mapping[str, t.Any]]) -> list[Mapping[str, t.Any]]:
        """Those whose approval no host of this run has sent, or may have sent: it can't be taken back."""
        records = [(mark, self.record(mark["event"])) for mark in marks]
        return [mark for mark, record in records if not record.sent_by and not record.unclear]

    def mark_done(self, task: str, host: str, event_ids: Iterable[str] | None) -> None:
        """This host's task has ended: nobody is to count on it for these events, or for any where None are known."""
        for event_id in [ANY_EVENT] if event_ids is None else event_ids:
            folder = self._done(task, event_id)
            folder.mkdir(mode=0o700, exist_ok=True)
            (folder / _digest(host)).write_text(host, encoding="utf-8")

    def done(self, task: str, event_id: str) -> list[str]:
        folders = [self._done(task, ANY_EVENT), self._done(task, event_id)]
        return [mark.read_text(encoding="utf-8") for folder in folders if folder.is_dir() for mark in folder.iterdir()]

    def _done(self, task: str, event_id: str) -> Path:
        return self.folder / f"done-{_digest(task)}-{_digest(canonical_id(event_id))}"

    def _keep(self, event_id: str, record: EventRecord) -> None:
        path = self._path(event_id)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(dataclasses.asdict(record)), encoding="utf-8")
        fresh.replace(path)

    def _path(self, event_id: str) -> Path:
        # An id comes from outside and is never used as a path.
        return self.folder / f"{_digest(canonical_id(event_id))}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _lock(descriptor: int, record: Path, began: float, seconds: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise
        if time.time() >= max(began, _changed_at(record)) + seconds:
            raise Occupied
        time.sleep(SECONDS_BETWEEN_LOOKS)
