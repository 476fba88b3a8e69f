# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""pytest, run in a child of this process."""

from __future__ import annotations

import collections
import json
import os
import sys
import time
from pathlib import Path

import hypothesis
import pytest

from mutation.child import Tell, allow

# Of the processor, as the machine may have other work, too.
SECONDS_TO_COLLECT = 30.0
SECONDS_EACH_TEST = 3.0
TIMES_AS_LONG = 10.0
QUICK = 0.1

NOTICED = 1


class Experience:
    """What is known of tests: how long they take, and how many breaks each has noticed first."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        # Of the processor alone.
        self.busy: dict[str, float] = {}
        self.noticed: collections.Counter[str] = collections.Counter()
        # The same for each file that was broken: what noticed its last break is likely to notice its next.
        self.noticed_in: collections.Counter[tuple[str, str]] = collections.Counter()
        self.broken = ""

    def learn(self, nodeid: str) -> None:
        self.noticed[nodeid] += 1
        self.noticed_in[self.broken, nodeid] += 1

    def price(self, item: pytest.Item) -> float:
        """The seconds for a break that it notices; a guess for what has noticed none yet."""
        noticed = 10 * self.noticed_in[self.broken, item.nodeid] + self.noticed[item.nodeid]
        return (self.seconds.get(item.nodeid, 0.0) + 0.005) / (noticed + 0.05)

    def is_quick(self, item: pytest.Item) -> bool:
        return self.busy.get(item.nodeid, QUICK) < QUICK

    def patience(self, nodeid: str) -> float:
        return SECONDS_EACH_TEST + TIMES_AS_LONG * self.seconds.get(nodeid, 0.0)


def run_pytest(tests: list[str], tree: Path, plugin: object) -> int:
    os.chdir(tree)
    # No search for the smallest example, no memory of former ones, nothing that depends on the machine's speed.
    hypothesis.settings.register_profile(
        "mutants",
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    hypothesis.settings.load_profile("mutants")
    allow(SECONDS_TO_COLLECT)
    # What measures time fails where the machine has other work; that says nothing about a break.
    options = ["-q", "-x", "-p", "no:xdist", "--hypothesis-seed=0", "-m", "not once and not rest"]
    return int(pytest.main([*options, *tests], plugins=[plugin]))


class Recorder:
    """How long each test takes, and what was loaded that is not ours."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self.began = (0.0, 0.0)
        self.seconds: dict[str, float] = {}
        self.busy: dict[str, float] = {}

    def pytest_runtest_logstart(self) -> None:
        allow(600.0)
        self.began = (time.monotonic(), time.process_time())

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = time.monotonic() - self.began[0]
        self.busy[nodeid] = time.process_time() - self.began[1]

    def pytest_sessionfinish(self) -> None:
        places = (sys.prefix, sys.base_prefix)
        files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
        modules = [name for name, file in files.items() if file.startswith(places) and name != "__main__"]
        self.tell(json.dumps({"seconds": self.seconds, "busy": self.busy, "modules": modules}))


class Noticing:
    """Ends the process as soon as a test fails, and tells which."""

    def __init__(self, tell: Tell, experience: Experience, quick: bool = False) -> None:
        self.tell = tell
        self.experience = experience
        self.quick = quick

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.quick:
            items[:] = filter(self.experience.is_quick, items)
        items.sort(key=self.experience.price)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        allow(self.experience.patience(nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell(report.nodeid)
            os._exit(NOTICED)
