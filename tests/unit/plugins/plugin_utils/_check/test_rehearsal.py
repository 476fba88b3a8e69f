# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Reboot of every host would come to."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.rehearsal import RehearsalSettings, rehearse
from helpers.default_policy import DEFAULT_POLICY

LATER = "2026-11-16T00:35:05Z"


def host(domain, **more):
    this_host = {"vm_name": "", "update_domain": domain, "zone": None}
    return {"maintenance_status": {"this_host": this_host, "events": [], "read_at": LATER}, **more}


def fleet(count, domains=2, **more):
    hosts = {f"web-{number}": host(str(number % domains), **more) for number in range(count)}
    for name, variables in hosts.items():
        variables["maintenance_status"]["this_host"]["vm_name"] = name
    return hosts


def rehearsed(variables, out=(), policy=DEFAULT_POLICY, **settings):
    by_host, found = rehearse(list(variables), variables, RehearsalSettings(policy, **settings), LATER, out)
    return by_host, {finding.point: finding for finding in found}


def test_each_host_is_told_its_wave_and_the_rule():
    by_host, found = rehearsed(fleet(4))
    assert {name: finding.verdict for name, finding in by_host.items()} == dict.fromkeys(fleet(4), "good")
    assert "it would be drained first, in wave 1 of 2 (rule 2 (all else" in by_host["web-0"].seen
    assert "in wave 2 of 2" in by_host["web-3"].seen
    assert found["a Reboot of every host"].seen == "2 waves, the largest of 2 of 4 hosts"


@pytest.mark.parametrize("action", ["approve", "ignore"])
def test_a_policy_that_does_not_drain_is_doubtful(action):
    by_host, _found = rehearsed(fleet(2), policy=[{"type": "Reboot", "action": action}])
    assert {finding.verdict for finding in by_host.values()} == {"doubtful"}


def test_all_at_once_is_doubtful_and_can_be_split():
    assert rehearsed(fleet(3, domains=1))[1]["a Reboot of every host"].verdict == "doubtful"
    found = rehearsed(fleet(3, domains=1), max_at_once=1)[1]["a Reboot of every host"]
    assert (found.verdict, found.seen) == ("good", "3 waves, the largest of 1 of 3 hosts")


def test_without_a_domain_that_is_said():
    found = rehearsed({"a": {}, "b": {}})[1]["a Reboot of every host"]
    assert found.verdict == "doubtful"
    assert found.seen == "2 waves, the largest of 1 of 2 hosts, as no domain is known"


@pytest.mark.parametrize(
    ("least", "verdict"),
    [(None, "good"), ("", "good"), (1, "good"), (2, "good"), ("50%", "good"), (3, "bad"), ("75%", "bad")],
)
def test_who_stays_in_service_against_the_least(least, verdict):
    found = rehearsed(fleet(4), min_in_service=least)[1]["in service"]
    assert found.verdict == verdict
    assert "at least 2 of 4 hosts" in found.seen


def test_hosts_that_can_not_be_counted_on_are_doubtful():
    found = rehearsed(fleet(4), out=["web-0"], min_in_service=2)[1]["in service"]
    assert found.verdict == "doubtful"
    assert "web-0" in found.do


def test_each_service_by_itself():
    variables = fleet(4)
    for name in ("web-0", "web-2"):
        variables[name]["maintenance_service"] = "db"
    found = rehearsed(variables, min_in_service=1)[1]
    # Both hosts of db are in one domain.
    assert found["in service, of db"].verdict == "bad"
    assert found["in service"].verdict == "bad"
    assert rehearsed(fleet(4, maintenance_service="web"), min_in_service=1)[1]["in service, of web"].verdict == "good"


@pytest.mark.parametrize("settings", [{"min_in_service": "half"}, {"max_at_once": "some"}])
def test_a_setting_that_is_none_is_bad(settings):
    found = rehearsed(fleet(2), **settings)[1]
    assert "bad" in {finding.verdict for finding in found.values()}
