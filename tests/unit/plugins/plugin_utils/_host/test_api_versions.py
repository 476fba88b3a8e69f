# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `api_version: auto` has found is remembered for a host, and a host is not believed everything."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts import shapes
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import checked
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.api_versions import ApiVersions

AUTO = {"api_version": "auto", "endpoint": "http://a"}


def answers(version, endpoint="http://a"):
    return {"api_version": version, "endpoint": endpoint}


def test_nothing_is_known_at_first(tmp_path):
    assert ApiVersions(tmp_path, "web-0").wanted(AUTO) == "auto"


def test_what_was_found_is_asked_for_from_then_on(tmp_path):
    ApiVersions(tmp_path, "web-0").learn(AUTO, answers("2017-08-01"))
    assert ApiVersions(tmp_path, "web-0").wanted(AUTO) == "2017-08-01"


def test_other_hosts_and_other_endpoints_are_asked_for_themselves(tmp_path):
    ApiVersions(tmp_path, "web-0").learn(AUTO, answers("2017-08-01"))
    assert ApiVersions(tmp_path, "web-1").wanted(AUTO) == "auto"
    assert ApiVersions(tmp_path, "web-0").wanted({**AUTO, "endpoint": "http://b"}) == "auto"


def test_it_is_known_by_both_names_of_an_endpoint_that_was_found(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    versions.learn({**AUTO, "endpoint": "auto"}, answers("2017-08-01", "http://b"))
    assert [versions.wanted({**AUTO, "endpoint": name}) for name in ("auto", "http://b")] == ["2017-08-01"] * 2


def test_a_version_that_was_given_is_neither_looked_up_nor_remembered(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    given = {**AUTO, "api_version": "2019-01-01"}
    versions.learn(given, answers("2019-01-01"))
    assert (versions.wanted(given), versions.wanted(AUTO)) == ("2019-01-01", "auto")
    versions.learn(AUTO, answers("2017-08-01"))
    assert versions.wanted(given) == "2019-01-01"


@pytest.mark.parametrize("lie", [None, "", "auto", "2099-01-01", "2017-08-01&x=1", ["2017-08-01"], {"a": 1}])
def test_a_host_is_believed_versions_that_we_know_and_nothing_else(lie):
    events = {"status": 200, "body": "{}"}
    told = {"answers": {**answers(lie), "events": events, "instance": None}}
    assert checked(told, shapes.EXCHANGE)["failed"]
    told["answers"]["api_version"] = "2017-08-01"
    assert checked(told, shapes.EXCHANGE)["answers"]["api_version"] == "2017-08-01"


def test_a_host_that_says_nothing_teaches_nothing(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    versions.learn(AUTO, {"endpoint": "http://a"})
    assert versions.wanted(AUTO) == "auto"


def test_a_file_that_is_no_version_counts_for_nothing(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    versions.learn(AUTO, answers("2017-08-01"))
    for file in versions.folder.iterdir():
        file.write_bytes(b"\xff2020")
    assert versions.wanted(AUTO) == "auto"
