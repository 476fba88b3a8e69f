# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the service wants to be asked, word by word."""

from __future__ import annotations

import json

import pytest
from helpers.simulator_inside import a_request, part

rules = part("request_rules")
MALFORMED = "Bad request. The payload is malformed"


def refusal(call, *arguments):
    with pytest.raises(rules.RefusedError) as error:
        call(*arguments)
    response = error.value.response
    assert json.loads(response.body)["error"] == str(error.value)
    return response.status, json.loads(response.body)


@pytest.mark.parametrize(
    ("path", "area"),
    [
        ("/metadata/scheduledevents", "scheduledevents"),
        ("/Metadata/ScheduledEvents/", "scheduledevents"),
        ("//metadata//scheduledevents", "scheduledevents"),
        ("/metadata/%73cheduledevents", "scheduledevents"),
        ("/metadata/scheduledevents/x", None),
        ("/metadata/versions", "versions"),
        ("/metadata/versions/x", None),
        ("/metadata/instance", "instance"),
        ("/metadata/instance/compute/name", "instance"),
        ("/metadata/instances", None),
        ("/other/instance", None),
        ("/metadata", None),
        ("/instance", None),
        ("/scheduledevents", None),
        ("/", None),
        ("", None),
    ],
)
def test_which_part_of_the_service_a_path_belongs_to(path, area):
    assert rules.area_of(path) == area


def test_a_path_is_its_words():
    assert rules.path_words("/a//b%20c/%2F/") == ["a", "b c", "/"]


def test_names_of_a_query_are_in_lower_case_and_values_as_they_are():
    assert rules.query_of(a_request("GET", "/x?API-Version=A&b=&C=D%20e")) == {"api-version": "A", "b": "", "c": "D e"}


@pytest.mark.parametrize("query", ["a=1&a=2", "a=1&A=1", "b=1&a=1&b=1"])
def test_a_name_stands_once_in_a_query(query):
    refused = {"error": "Bad request. Duplicate query parameters are not allowed"}
    assert refusal(rules.query_of, a_request("GET", f"/x?{query}")) == (400, refused)


def test_two_names_may_have_the_same_value():
    assert rules.query_of(a_request("GET", "/x?a=1&b=1")) == {"a": "1", "b": "1"}


def test_a_version_is_given_back():
    assert rules.demand_version({"api-version": "b"}, ["a", "b", "c"]) == "b"


@pytest.mark.parametrize("query", [{}, {"api-version": ""}, {"api-version": "d"}])
def test_another_version_or_none_is_refused_and_the_newest_three_are_named(query):
    assert refusal(rules.demand_version, query, ["a", "b"]) == (
        400,
        {
            "error": "Bad request. api-version is invalid or was not specified in the request. "
            "For more information refer to aka.ms/azureimds",
            "newest-versions": ["2025-04-07", "2024-07-17", "2024-03-15"],
        },
    )


@pytest.mark.parametrize("value", ["true", "TRUE", " true "])
def test_metadata_true(value):
    rules.demand_metadata_header(a_request("GET", "/x", headers={"metadata": value}))


@pytest.mark.parametrize("headers", [{}, {"Metadata": ""}, {"Metadata": "false"}, {"Metadata": "truest"}])
def test_anything_else_is_refused(headers):
    refused = {"error": "Bad request. Required metadata header not specified"}
    assert refusal(rules.demand_metadata_header, a_request("GET", "/x", headers=headers)) == (400, refused)


def test_a_method_is_one_of_those_allowed():
    rules.demand_method(a_request("POST", "/x"), "GET", "POST")
    refused = {"error": 'Http method is not allowed: Path = "/x", Method = "PUT"'}
    assert refusal(rules.demand_method, a_request("PUT", "/x"), "GET", "POST") == (405, refused)


def test_what_is_not_there():
    problem = rules.not_found(a_request("PUT", "/x"))
    assert (problem.response.status, str(problem)) == (404, 'API is not found: Path = "/x", Method = "PUT"')


def test_an_approval_names_events():
    assert rules.start_requests(b'{"StartRequests": [{"EventId": "A"}, {"EventId": "b", "x": 1}]}') == ["A", "b"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff",
        b"{",
        b"7",
        b"[]",
        b"{}",
        b'{"StartRequests": []}',
        b'{"StartRequests": 7}',
        b'{"StartRequests": [7]}',
        b'{"StartRequests": [{}]}',
        b'{"StartRequests": [{"EventId": ""}]}',
        b'{"StartRequests": [{"EventId": 7}]}',
        b'{"StartRequests": [{"EventId": "A"}, {"EventId": ""}]}',
    ],
)
def test_what_is_no_approval(body):
    assert refusal(rules.start_requests, body) == (400, {"error": MALFORMED})
