# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fleet is built once for all scenarios, and each begins at its standard state."""

from __future__ import annotations

import re

import pytest
from lab.evidence import Evidence
from lab.figures import Figures
from lab.fleet import Fleet, down, left_behind
from lab.lab import lock
from lab.names import LOGS

FIGURES = Figures()


@pytest.fixture(scope="session")
def lab():
    try:
        guard = lock()
    except SystemExit as why:
        pytest.exit(str(why), returncode=1)
    with guard:
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
    yield lab
    assert "Traceback" not in (LOGS / "simulator.err").read_text(), "an event could not do to a machine what it should"


@pytest.fixture
def evidence(fleet, request):
    """Whatever is in the logs from now on."""
    since_now = Evidence(fleet)
    yield since_now
    since_now.keep(re.sub(r"\W+", "-", request.node.name).strip("-"))


@pytest.fixture
def figures():
    return FIGURES


def pytest_terminal_summary(terminalreporter):
    if FIGURES.table():
        terminalreporter.section("figures, from the logs of HAProxy, the client, the simulator and systemd")
        for line in FIGURES.table():
            terminalreporter.line(line)
