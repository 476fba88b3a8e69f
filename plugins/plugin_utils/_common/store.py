# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Data that the tasks of one ansible-playbook share, in its private folder.

Each task is a process of its own, so nothing stays in memory between two of them. DEFAULT_LOCAL_TMP is a folder that
Ansible makes for one ansible-playbook and removes at its end; all its workers inherit it, and nobody else has it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
import typing as t
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

RUN = "run"
# Below it: which state and which orders are the newest; what hosts:, serial: and when: of the plays are made of.
HEAD, PLAYS = "head.json", "plays.json"
SECONDS_BETWEEN_LOOKS = 0.02


def digest(*words: str) -> str:
    """A file name for text that comes from outside, such as the id of an event."""
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def write_whole(path: Path, data: t.Any) -> None:
    """Write JSON so that a reader finds the old data or the new, and a killed process leaves the old."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only this user can read it: that is how mkstemp makes it.
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_whole(path: Path) -> t.Any:
    """The data in the file; None where there is none."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


class Occupied(Exception):
    """Another process has had the lock for longer than this one can wait."""


class Store:
    """Values by key, for one purpose."""

    def __init__(self, base: str | Path, purpose: str) -> None:
        self.folder = Path(base) / f"azure-{purpose}"

    def read(self, *key: str) -> t.Any:
        return read_whole(self.path(*key))

    def write(self, data: t.Any, *key: str) -> None:
        write_whole(self.path(*key), data)

    def values(self) -> list[t.Any]:
        return [read_whole(path) for path in self.folder.glob("*.json")]

    def path(self, *key: str) -> Path:
        return self.folder / f"{digest(*key)}.json"

    def changed_at(self, *key: str) -> float:
        """When the value was written, or long ago."""
        try:
            return self.path(*key).stat().st_mtime
        except FileNotFoundError:
            return 0.0

    @contextlib.contextmanager
    def locked(self, *key: str, until: Callable[[], float] | None = None) -> Iterator[None]:
        """Wait for others, for ever or `until` a time that may move. Raises Occupied.

        The lock is the kernel's: a process that dies gives its own back.
        """
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with self.path(*key).with_suffix(".lock").open("a") as lock:
            while not _is_locked(lock.fileno(), wait=until is None):
                if until and time.time() >= until():
                    raise Occupied
                time.sleep(SECONDS_BETWEEN_LOOKS)
            yield


def _is_locked(descriptor: int, wait: bool) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


class Overtaken(Exception):
    """Another process has written the state since this one read it."""


class RunStore:
    """The state of a run, the orders to its hosts, and what its plays need to know."""

    def __init__(self, base: str | Path) -> None:
        self.folder = Path(base) / f"azure-{RUN}"
        self._read_as: int | None = None

    def begin(self, state: Mapping[str, t.Any], plays: Mapping[str, t.Any], **known: t.Any) -> None:
        """Put away what an earlier run of the same ansible-playbook has left, and keep a first state."""
        # The count goes on: whoever has read an older state has been overtaken.
        version = self.head.get("version", 0)
        shutil.rmtree(self.folder, ignore_errors=True)
        write_whole(self.folder / HEAD, {"version": version})
        self._read_as = version
        self.keep(state, plays, **known)

    @property
    def head(self) -> dict[str, t.Any]:
        """What every action of a run may want to know: the keywords of `keep`."""
        return read_whole(self.folder / HEAD) or {}

    @property
    def plays(self) -> Path:
        return self.folder / PLAYS

    def state(self) -> dict[str, t.Any]:
        version = self.head.get("version")
        state = read_whole(self._state(version)) if version else None
        if state is None:
            raise ValueError("No run has begun here: these tasks are part of maintenance.azure.drain_then_approve")
        self._read_as = version
        return t.cast("dict[str, t.Any]", state)

    def keep(
        self,
        state: Mapping[str, t.Any],
        plays: Mapping[str, t.Any] | None = None,
        orders: Mapping[str, Mapping[str, t.Any]] | None = None,
        **known: t.Any,
    ) -> None:
        """Keep all of it at once. Raises Overtaken if this is not the state that was read, with changes.

        `orders`: host -> what it is to do, in the place of all earlier orders.
        """
        with self._alone():
            head = self.head
            before = head.get("version")
            if before is None or before != self._read_as:
                raise Overtaken
            version = before + 1
            write_whole(self._state(version), state)
            if orders is not None:
                for host, order in orders.items():
                    write_whole(self._order(version, host), order)
                known["orders"] = version
            if plays is not None:
                write_whole(self.folder / PLAYS, plays)
            write_whole(self.folder / HEAD, {**head, **known, "version": version})
            self._read_as = version
            self._state(before).unlink(missing_ok=True)
            if orders is not None and "orders" in head:
                shutil.rmtree(self._orders(head["orders"]), ignore_errors=True)

    def order(self, host: str) -> dict[str, t.Any] | None:
        """What a host is to do now; None for nothing."""
        version = self.head.get("orders")
        return read_whole(self._order(version, host)) if version else None

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        with (self.folder / HEAD).with_suffix(".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _state(self, version: int) -> Path:
        return self.folder / f"state-{version}.json"

    def _orders(self, version: int) -> Path:
        return self.folder / f"orders-{version}"

    def _order(self, version: int, host: str) -> Path:
        return self._orders(version) / digest(host)
