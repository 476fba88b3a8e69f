# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulator of two VMs of a group for the watchers and reflexes of these tests."""

from __future__ import annotations

import pytest
from helpers.simulator_process import Simulator


@pytest.fixture(scope="module")
def shared_simulator():
    vms = [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]
    # Four readings a second, and whatever the test itself asks, are more than a VM has.
    with Simulator({"vms": vms}, requests_per_second=0) as fleet:
        yield fleet


@pytest.fixture
def simulator(shared_simulator):
    shared_simulator.reset()
    return shared_simulator
