# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a domain, and what is none."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import domain_of


@pytest.mark.parametrize("nothing", [None, True, False, "", "  "])
def test_what_is_no_domain(nothing):
    assert domain_of({"maintenance_domain": nothing}, {}) is None
    assert domain_of(None, {"update_domain": nothing}) is None
    assert domain_of({}, {"zone": nothing}) is None
    # The next that is there counts.
    assert domain_of({"maintenance_domain": nothing}, {"update_domain": nothing, "zone": "2"}) == "zone 2"


@pytest.mark.parametrize(("given", "name"), [(0, "0"), ("0", "0"), (" a ", "a"), (3, "3")])
def test_what_is_one(given, name):
    assert domain_of({"maintenance_domain": given}, {"update_domain": "9"}) == f"domain {name}"
    assert domain_of({}, {"update_domain": given}) == f"update domain {name}"
    assert domain_of({}, {"update_domain": given, "zone": "9", "scale_set": "set"}) == f"update domain {name}"
    assert domain_of(None, {"zone": given}) == f"zone {name}"


@pytest.mark.parametrize(
    ("variables", "more", "domain"),
    [
        (None, {}, "zone 1"),
        ({}, {"scale_set": None, "placement_group": ""}, "zone 1"),
        ({"maintenance_delivery_group": ""}, {}, "zone 1"),
        ({"maintenance_delivery_group": "set"}, {}, "update domain 0"),
        ({}, {"scale_set": "set"}, "update domain 0"),
        ({}, {"placement_group": "id"}, "update domain 0"),
    ],
)
def test_the_update_domain_of_a_vm_in_a_zone_counts_only_where_it_shares_it(variables, more, domain):
    assert domain_of(variables, {"update_domain": "0", "zone": "1", **more}) == domain
