# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulator's rules with exact numbers, in this process: a break of one is noticed in milliseconds.

That the whole program does the same through its sockets is what the conformance tests in tests/conformance say.
"""

from __future__ import annotations

import contextlib

import pytest
from helpers.simulator_inside import driven_time, inside

TWO_IN_A_SET = {"vms": [{"name": "web-0", "group": "web"}, {"name": "web-1", "group": "web"}]}


@pytest.fixture
def driven():
    with driven_time() as time:
        yield time


@pytest.fixture
def start():
    """A function that makes a simulator; one for each test, as they share the time."""
    with contextlib.ExitStack() as stack:
        yield lambda fleet=None, **more: stack.enter_context(inside(fleet or TWO_IN_A_SET, **more))


@pytest.fixture
def simulator(start):
    """Two VMs of an availability set."""
    return start()
