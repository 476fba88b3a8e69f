# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is warned of, and what not: a warning too many is read by nobody."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import make_waves

EVENT = {"id": "E", "status": "Scheduled", "not_before": "2026-11-16T00:10:00Z", "resources": ["a", "b"]}


def fleet(zones=(None, None), domain="0", **variables):
    return {
        name: {
            "maintenance_status": {"this_host": {"update_domain": domain, "zone": zone}, "events": [EVENT]},
            **variables,
        }
        for name, zone in zip("ab", zones, strict=True)
    }


def warnings(hosts, **more):
    return [warning for wave in make_waves(hosts, hosts, **more) for warning in wave["warnings"]]


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (2, 0), (3, 0), ("100%", 0)])
def test_an_event_that_is_larger_than_the_limit(limit, count):
    found = warnings(fleet(), max_at_once=limit)
    assert len(found) == count
    assert all("max_at_once is 1, but 2 hosts can't be parted" in warning for warning in found)


@pytest.mark.parametrize(("zones", "count"), [((None, None), 0), (("1", "1"), 0), (("1", None), 0), (("1", "2"), 1)])
def test_zones_that_share_an_update_domain(zones, count):
    found = warnings(fleet(zones, maintenance_delivery_group="set"))
    assert len(found) == count
    assert all("Hosts in zones 1 and 2 share update domain 0" in warning for warning in found)


def test_an_event_that_names_single_vms_in_two_zones():
    (warning,) = warnings(fleet(("1", "2")))
    assert warning.startswith("Event E spans several domains (zone 1 and zone 2).")


def test_the_domains_of_one_event_in_their_order():
    names = [f"h{number}" for number in range(12)]
    shared = {**EVENT, "resources": [*names, "unknown"]}
    hosts = {
        name: {"maintenance_status": {"this_host": {"update_domain": name[1:]}, "events": [shared]}} for name in names
    }
    hosts["unknown"] = {"maintenance_status": {"this_host": {}, "events": [shared]}}
    (wave,) = make_waves(hosts, hosts)
    assert wave["domains"] == [*(f"update domain {number}" for number in range(12)), "no known domain"]
