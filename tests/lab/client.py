# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client that never stops asking through HAProxy, and writes a line for every answer: the users of the fleet.

Users don't wait for each other: requests begin at a steady rate, whatever became of those before. Most ask for a page,
some are in the middle of a longer download, and one keeps its connection. A line: when it was asked, milliseconds until
all of the answer was there, `ok` or what went wrong, who answered, what was asked for, and since when the oldest of the
requests without an answer waits: what was asked before is all in the diary.
"""

from __future__ import annotations

import http.client
import sys
import threading
import time
from pathlib import Path
from typing import IO

from lab.names import BALANCER

LONGEST_WAIT = 120
SECONDS_BETWEEN_PAGES = 0.03
PAGES_PER_DOWNLOAD = 8


class Diary:
    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._waiting: list[float] = []

    def begin(self) -> float:
        with self._lock:
            now = time.time()
            self._waiting.append(now)
            return now

    def end(self, asked: float, *words: str) -> None:
        with self._lock:
            self._waiting.remove(asked)
            oldest = min(self._waiting, default=time.time())
            self._file.write(" ".join([f"{asked:.3f}", *words, f"{oldest:.3f}"]) + "\n")
            self._file.flush()


def connection() -> http.client.HTTPConnection:
    return http.client.HTTPConnection(BALANCER.address, 80, timeout=LONGEST_WAIT)


def ask(link: http.client.HTTPConnection, path: str, diary: Diary) -> None:
    asked, began = diary.begin(), time.monotonic()
    server = "-"
    try:
        link.request("GET", path)
        answer = link.getresponse()
        answer.read()
        server = answer.headers.get("X-Served-By", "-")
        outcome = "ok" if answer.status == 200 else str(answer.status)
    except (OSError, http.client.HTTPException) as problem:
        link.close()
        outcome = f"{type(problem).__name__}:{problem}".replace(" ", "_")
    milliseconds = (time.monotonic() - began) * 1000
    diary.end(asked, f"{milliseconds:.1f}", outcome, server, path)


def ask_once(path: str, diary: Diary) -> None:
    link = connection()
    ask(link, path, diary)
    link.close()


def keep_asking(diary: Diary) -> None:
    link = connection()
    while True:
        ask(link, "/", diary)
        time.sleep(SECONDS_BETWEEN_PAGES)


def main() -> None:
    with Path(sys.argv[1]).open("a") as file:
        diary = Diary(file)
        threading.Thread(target=keep_asking, args=(diary,), daemon=True).start()
        asked, began = 0, time.monotonic()
        while True:
            asked += 1
            path = "/" if asked % PAGES_PER_DOWNLOAD else "/slow"
            threading.Thread(target=ask_once, args=(path, diary), daemon=True).start()
            # A moment in which this process got no time is made up for, up to a second of it.
            began = max(began, time.monotonic() - asked * SECONDS_BETWEEN_PAGES - 1)
            time.sleep(max(0.0, began + asked * SECONDS_BETWEEN_PAGES - time.monotonic()))


if __name__ == "__main__":
    main()
