# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hypothesis settings, the order of the tests, and a header that names what stands for Windows hosts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

# For `ansible-test units`, which reads no settings of ours; hence the markers below, too.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from helpers.windows_host import WHICH

# How fast this machine is must not decide. `make test` tries the same examples each time, `make test-rest` others.
AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", AT_ANY_SPEED, derandomize=True)
settings.register_profile("random", AT_ANY_SPEED)
# The same examples, but a mutant is shown by any of them, not by the smallest.
ANY = [phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)]
settings.register_profile("mutants", AT_ANY_SPEED, derandomize=True, phases=ANY, report_multiple_bugs=False)
settings.load_profile("same")


MARKERS = (
    "once: says nothing about ansible-core, so `make test-matrix` leaves it out",
    "rest: does not decide whether a change is safe, so `make test-rest` runs it and `make test` does not",
    "waits(long=False): spends most of its time waiting, so it begins first",
)


def pytest_configure(config: pytest.Config) -> None:
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    # Some values Hypothesis takes from the source of modules that are loaded, and which are depends on what ran before.
    if config.getoption("--hypothesis-profile", None) != "random" and hasattr(providers, "_get_local_constants"):
        providers._get_local_constants = lambda: providers._local_constants


def pytest_report_header() -> str:
    return f"Windows hosts are tried with {WHICH}"


# After those that are not wanted have been left out.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the tests that mostly wait, evenly among the processes, so that short ones are left at the end."""
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    # Stable, so those of one file stay together among the others, for what they share.
    waiting = sorted((item for item in items if _waits(item)), key=_waits, reverse=True)
    others = [item for item in items if not _waits(item)]
    ordered: list[pytest.Item] = []
    for process in range(processes):
        # As many as pytest-xdist gives this process at first.
        share = (len(items) - len(ordered)) // (processes - process)
        first = waiting[process::processes]
        taken = max(0, share - len(first))
        ordered += [*first, *others[:taken]]
        others = others[taken:]
    items[:] = [*ordered, *others]


def _waits(item: pytest.Item) -> int:
    """Return how long a test waits: 0 hardly, 1 for some seconds, 2 for a minute."""
    marker = item.get_closest_marker("waits")
    if marker is None:
        return int("/runs/" in item.path.as_posix())
    return 2 if marker.kwargs.get("long") else 1
