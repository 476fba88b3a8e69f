# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which delivery scope an event belongs to, and how its VMs are called there."""

from __future__ import annotations

import pytest
from helpers.simulator_inside import part

FLEET = {
    "groups": {"own": {"kind": "standalone"}},
    "vms": [
        {"name": "web-0", "group": "web"},
        {"name": "web-1", "key": "second", "group": "web"},
        {"name": "db", "group": "one"},
        {"name": "db", "key": "db-two", "group": "two"},
        {"name": "own-0", "group": "own"},
        {"name": "own-1", "group": "own"},
        {"name": "alone"},
        {"name": "left", "key": "right", "group": "odd"},
        {"name": "right", "key": "other", "group": "odd"},
    ],
}


@pytest.fixture(scope="module")
def fleet():
    return part("fleet").Fleet(FLEET, "quick")


@pytest.mark.parametrize(
    ("spec", "scope", "names"),
    [
        ({"resources": ["web-0"]}, "web", ["web-0"]),
        ({"resources": ["second", "web-0"]}, "web", ["web-1", "web-0"]),
        ({"resources": ["alone"]}, "vm:alone", ["alone"]),
        ({"resources": ["own-1"]}, "vm:own-1", ["own-1"]),
        ({"resources": ["own-1"], "group": "own"}, "vm:own-1", ["own-1"]),
        ({"resources": ["db"]}, "one", ["db"]),
        ({"resources": ["db-two"]}, "two", ["db"]),
        ({"resources": ["db"], "group": "two"}, "two", ["db"]),
        ({"resources": ["db-two"], "group": "two"}, "two", ["db"]),
        ({"resources": ["web-1"], "group": "web"}, "web", ["web-1"]),
        ({"resources": ["stranger", "second"], "group": "web"}, "web", ["stranger", "web-1"]),
        ({"resources": ["own-0"], "group": "vm:own-0"}, "vm:own-0", ["own-0"]),
        ({"resources": ["right"], "group": "odd"}, "odd", ["left"]),
        ({"resources": [], "group": "web"}, "web", []),
        ({"group": "vm:alone"}, "vm:alone", []),
    ],
)
def test_scope_and_names(fleet, spec, scope, names):
    found, called = part("whose_event").scope_and_names(fleet, spec, "it")
    assert (found.name, called) == (scope, names)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({}, 'it: name the VMs in "resources", or give a "group"'),
        ({"resources": []}, 'it: name the VMs in "resources", or give a "group"'),
        ({"group": "own"}, 'it: name the VMs in "resources", or give a "group"'),
        (
            {"resources": ["web-0", "x", "y"]},
            'it: no VM of the fleet is called "x"; give a "group" to name a VM that nobody plays',
        ),
        (
            {"resources": ["web-1"]},
            'it: no VM of the fleet is called "web-1"; give a "group" to name a VM that nobody plays',
        ),
        (
            {"resources": ["web-0", "alone"]},
            "it: its VMs belong to different delivery groups (vm:alone, web), and one event belongs to one",
        ),
        (
            {"resources": ["alone"], "group": "web"},
            "it: its VMs belong to different delivery groups (vm:alone, web), and one event belongs to one",
        ),
        (
            {"resources": ["own-0", "own-1"], "group": "own"},
            "it: its VMs belong to different delivery groups (vm:own-0, vm:own-1), and one event belongs to one",
        ),
        (
            {"resources": ["web-0"], "group": "x"},
            'it: there is no group "x"; groups are web, one, two, vm:own-0, vm:own-1, vm:alone, odd',
        ),
    ],
)
def test_what_makes_no_sense(fleet, spec, sentence):
    with pytest.raises(part("input_checks").InputError) as error:
        part("whose_event").scope_and_names(fleet, spec, "it")
    assert str(error.value) == sentence
