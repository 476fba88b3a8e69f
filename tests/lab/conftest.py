# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet is built once for all scenarios, and each begins at its standard state."""

from __future__ import annotations

import pytest
from lab.evidence import Evidence
from lab.figures import Figures
from lab.fleet import Fleet, down, left_behind
from lab.lab import lock

FIGURES = Figures()


@pytest.fixture(scope="session")
def lab():
    with lock():
        fleet = Fleet()
        try:
            fleet.up()
            yield fleet
        finally:
            down()
            assert left_behind() == []


@pytest.fixture
def fleet(lab):
    lab.settle()
    return lab


@pytest.fixture
def evidence(fleet):
    """Whatever is in the logs from now on."""
    return Evidence(fleet)


@pytest.fixture
def figures():
    return FIGURES


def pytest_terminal_summary(terminalreporter):
    if FIGURES.table():
        terminalreporter.section("figures, from the logs of HAProxy, the client, the simulator and systemd")
        for line in FIGURES.table():
            terminalreporter.line(line)
