# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance tests of the simulator: one test for each fact of the service that it models, named after the fact.

The grades are those of the facts' source: [D] documented by Microsoft, [O] observed, [I] inferred and not verified on
a real VM. Tests without a grade are about documented facts, or about the simulator itself (faults, control, command
line). `inferred` in a name stands for [I].
"""

from __future__ import annotations

import pytest
from helpers.simulator_process import Simulator

TWO_IN_A_SET = {"vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]}


@pytest.fixture
def start():
    """A function that starts a simulator, without a rate limit unless the test asks for one; all end with the test."""
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


@pytest.fixture(scope="session")
def sixty_times_faster():
    with Simulator(TWO_IN_A_SET, requests_per_second=0, speed=60) as simulator:
        yield simulator


@pytest.fixture
def simulator(real_time):
    """Two VMs of an availability set, at the speed of the real world."""
    real_time.reset()
    return real_time


@pytest.fixture
def fast(sixty_times_faster):
    """The same at sixty times the speed: a minute passes in a second."""
    sixty_times_faster.reset()
    return sixty_times_faster
