# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The conformance tests of the simulator: one for each fact of the service that it models, named after the fact.

`make test` asks a simulator in this process, `make test-rest` a real one over HTTP as well. A name ends with the grade
of its fact: `documented` by Microsoft, `observed` in public code, recordings and issues, or `inferred` and not verified
on a real VM. Tests without a grade are about the simulator itself: its faults, its control interface, its command line.
What tests/unit/roles/simulator shows with exact numbers is not shown here again.
"""

from __future__ import annotations

import contextlib

import pytest
from helpers.simulator_inside import inside
from helpers.simulator_process import Simulator

TWO_IN_A_SET = {"vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]}


def starting(make):
    """Yield a function that starts a simulator, without a rate limit unless asked for one; all end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda fleet=None, **more: stack.enter_context(
            make(fleet or TWO_IN_A_SET, **{"requests_per_second": 0, **more})
        )


@pytest.fixture(params=[pytest.param(inside, id="inside"), pytest.param(Simulator, id="http", marks=pytest.mark.rest)])
def start(request):
    yield from starting(request.param)


@pytest.fixture
def over_http():
    yield from starting(Simulator)


@pytest.fixture
def simulator(start):
    """Two VMs of an availability set, at the speed of the real world."""
    return start()
