# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance tests of the simulator: one for each fact of the service that it models, named after the fact.

They talk to a real process over HTTP. A name ends with the grade of its fact: `documented` by Microsoft, `observed` in
public code, recordings and issues, or `inferred` and not verified on a real VM. Tests without a grade are about the
simulator itself: its faults, its control interface, its command line. The exact numbers of each rule are in
tests/unit/roles/simulator.
"""

from __future__ import annotations

import pytest
from helpers.simulator_process import Simulator

TWO_IN_A_SET = {"vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]}


@pytest.fixture
def start():
    """Return a function that starts a simulator, without a rate limit unless asked for one; all end with the test."""
    running = []

    def start_one(fleet=None, **more):
        more.setdefault("requests_per_second", 0)
        running.append(Simulator(fleet or TWO_IN_A_SET, **more))
        return running[-1]

    yield start_one
    for simulator in running:
        simulator.stop()


@pytest.fixture(scope="session")
def real_time():
    with Simulator(TWO_IN_A_SET, requests_per_second=0) as simulator:
        yield simulator


@pytest.fixture
def simulator(real_time):
    """Two VMs of an availability set, at the speed of the real world."""
    real_time.reset()
    return real_time
