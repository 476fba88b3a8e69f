# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of AWX's task manager: which nodes run, and when a workflow counts as failed."""

from __future__ import annotations

import itertools

import pytest
from helpers.awx_double.server import Store
from helpers.awx_double.workflow import walk

pytestmark = pytest.mark.once


@pytest.fixture
def build(tmp_path):
    def made(nodes, *edges, together=()):
        store = Store(tmp_path)
        workflow = store.add("workflow_job_templates", {"name": "W", "organization": 1})
        project = store.add("projects", {"name": "P", "organization": 1})
        template = store.add("job_templates", {"name": "T", "project": project["id"]})
        numbers = {
            name: store.add(
                "workflow_job_template_nodes",
                {
                    "identifier": name,
                    "workflow_job_template": workflow["id"],
                    "unified_job_template": template["id"],
                    "all_parents_must_converge": name in together,
                },
            )["id"]
            for name in nodes
        }
        for one, edge, other in edges:
            link = ("workflow_job_template_nodes", numbers[one], f"{edge}_nodes")
            store.links.setdefault(link, []).append(numbers[other])
        return store

    return made


def walked(store, *failed):
    found = walk(store, "W", lambda node: "failed" if node in failed else "successful")
    return "".join(found.ran), found.failed


def test_a_failure_with_a_way_on_is_handled(build):
    store = build("abc", ("a", "failure", "b"), ("a", "success", "c"))
    assert walked(store) == ("ac", False)
    assert walked(store, "a") == ("ab", False)
    assert walked(store, "a", "b") == ("ab", True)


def test_a_way_on_that_is_not_for_failures_handles_none(build):
    assert walked(build("ab", ("a", "success", "b")), "a") == ("a", True)
    assert walked(build("ab", ("a", "always", "b")), "a") == ("ab", False)


@pytest.mark.parametrize("failed", list(itertools.product([False, True], repeat=2)))
def test_one_of_several_is_enough_unless_all_must_converge(build, failed):
    edges = (("a", "failure", "c"), ("b", "always", "c"))
    names = [name for name, fails in zip("ab", failed, strict=True) if fails]
    assert walked(build("abc", *edges), *names)[0] == "abc"
    assert ("c" in walked(build("abc", *edges, together="c"), *names)[0]) == failed[0]


def test_a_node_that_does_not_run_keeps_others_from_converging(build):
    store = build("abcd", ("a", "success", "b"), ("b", "failure", "d"), ("c", "always", "d"), together="d")
    assert walked(store, "a") == ("ac", True)
