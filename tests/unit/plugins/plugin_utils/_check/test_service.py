# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks and api-versions, as answers show them."""

from __future__ import annotations

import email.utils

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service.targets import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.answers_heard import Answers, events
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.service import (
    about_answer,
    about_clock_of_host,
    about_clock_of_service,
    about_versions,
    offset_of_host,
    offset_of_service,
)

NOW = 1_800_000_000.0


def heard(status=200, body="{}", date=NOW, at=NOW, seconds=0.1):
    headers = {} if date is None else {"date": email.utils.formatdate(date, usegmt=True)}
    return {"status": status, "headers": headers, "body": body, "problem": "", "at": at, "seconds": seconds}


@pytest.mark.parametrize(
    ("ahead", "verdict", "words"),
    [
        (0, "good", "as that of the controller"),
        (9, "good", "s ahead of"),
        (-9, "good", "s behind"),
        (14, "doubtful", "s ahead of"),
        (-3600, "doubtful", "s behind that of the controller"),
    ],
)
def test_the_clock_of_a_host(ahead, verdict, words):
    found = about_clock_of_host(offset_of_host(NOW + 1 + ahead, NOW, NOW + 2))
    assert found.verdict == verdict
    assert words in found.seen


def test_a_call_that_takes_long_does_not_make_a_clock_wrong():
    assert about_clock_of_host(offset_of_host(NOW + 40, NOW, NOW + 60)).seen == "as that of the controller"


@pytest.mark.parametrize(("ahead", "verdict"), [(0, "good"), (-1, "good"), (8, "good"), (30, "bad"), (-30, "bad")])
def test_the_clock_of_the_service_whatever_that_of_the_host(ahead, verdict):
    for host_ahead in (0, 500):
        host = offset_of_host(NOW + host_ahead, NOW, NOW + 0.2)
        answers = Answers({"any": heard(date=NOW + ahead, at=NOW + host_ahead)})
        assert about_clock_of_service(offset_of_service(answers, host)).verdict == verdict


def test_a_service_that_does_not_tell_its_time_is_no_problem():
    answers = Answers({"any": heard(date=None), "none": heard(status=None, date=NOW + 900)})
    assert offset_of_service(answers, offset_of_host(NOW, NOW, NOW)) is None
    assert about_clock_of_service(None).verdict == "good"


@pytest.mark.parametrize(
    ("there", "wanted", "verdict"),
    [
        (API_VERSIONS, "2020-07-01", "good"),
        (API_VERSIONS[1:], "2020-07-01", "good"),
        (API_VERSIONS[:-1], "2020-07-01", "bad"),
        (API_VERSIONS[:-1], "auto", "good"),
        (API_VERSIONS[:2], "auto", "doubtful"),
        (API_VERSIONS[:4], "2017-08-01", "doubtful"),
        ((), "auto", "bad"),
    ],
)
def test_api_versions(there, wanted, verdict):
    answers = Answers({events(version): heard(status=200 if version in there else 400) for version in API_VERSIONS})
    assert about_versions(answers, wanted).verdict == verdict


def test_how_fast_it_answers():
    answers = Answers({"a": heard(seconds=0.1), "b": heard(seconds=0.3), "c": heard(seconds=9)})
    assert about_answer(1, answers).seen == "the first reading took 1.0 s, each request after it 0.30 s"
    assert about_answer(5.1, answers).verdict == "doubtful"
