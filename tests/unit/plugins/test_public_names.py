# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is public and what is internal, and that each says which of them it is."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest
import yaml
from helpers import ROOT

# What `ansible-doc -l` shows is what users may use; all else says in its first word that it is internal.

PLUGINS = ROOT / "plugins"
PACKAGE = "ansible_collections.maintenance.azure.plugins"
# A name that is added here is a promise: users write it into their playbooks.
PUBLIC = {
    "modules": {
        "drain_journal",
        # docs/lease.md reads one with it.
        "lease",
        "scheduled_event_approve",
        "scheduled_event_info",
        "scheduled_event_wait",
    },
    "filter": {"plan", "waves"},
    "inventory": {"scheduled_events"},
}
# What Ansible looks for plugins in, whether there is one today or not.
KINDS = ("modules", "action", "filter", "inventory", "lookup", "test", "callback", "connection", "become", "vars")
FILES = [path for kind in KINDS for path in (PLUGINS / kind).glob("*.py") if path.stem != "__init__"]
# A file of filters has several; each is documented in a file of its name.
FOUND = sorted([path for path in FILES if path.parent.name != "filter"] + [*PLUGINS.glob("filter/*.yml")])
INTERNAL = "[INTERNAL] "
HOST_HALF = "main"
ON_THE_CONTROLLER = "maintenance.azure._attributes.on_the_controller"


def documentation(path):
    """Of an action it is with the module of the same name, of a filter in the file beside it."""
    beside = path.with_suffix(".yml")
    if beside.is_file():
        return yaml.safe_load(beside.read_text(encoding="utf-8"))["DOCUMENTATION"]
    source = PLUGINS / "modules" / path.name if path.parent.name == "action" else path
    for node in ast.parse(source.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION":
            return yaml.safe_load(ast.literal_eval(node.value))
    raise AssertionError(f"{source} has no documentation")


def test_every_filter_is_documented():
    found = [
        name
        for path in FILES
        if path.parent.name == "filter"
        for name in import_module(f"{PACKAGE}.filter.{path.stem}").FilterModule().filters()
    ]
    assert sorted(found) == sorted(path.stem for path in FOUND if path.parent.name == "filter")


def test_few_names_are_internal():
    internal = [path for path in FILES if path.stem.startswith("_")]
    count = {kind: sum(path.parent.name == kind for path in internal) for kind in ("modules", "action", "filter")}
    assert count["modules"] <= 10
    assert count["action"] <= 8
    assert count["filter"] <= 1


def test_every_public_name_is_there():
    for kind, names in PUBLIC.items():
        assert names <= {path.stem for path in FOUND if path.parent.name == kind}


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_no_public_name_says_so_twice(path):
    kind = "modules" if path.parent.name == "action" else path.parent.name
    public = path.stem in PUBLIC.get(kind, ())
    told = documentation(path)
    assert told.get("module", told.get("name")) in (path.stem, f"maintenance.azure.{path.stem}")
    assert path.stem.startswith("_") is not public
    assert told["short_description"].startswith(INTERNAL) is not public
    assert told["description"][0].startswith(INTERNAL) is not public


@pytest.mark.parametrize("name", sorted(PUBLIC["modules"]))
def test_a_public_module_is_its_own_host_half_or_says_that_it_runs_on_the_controller(name):
    path = PLUGINS / "modules" / f"{name}.py"
    body = ast.parse(path.read_text(encoding="utf-8")).body
    is_host_half = any(isinstance(node, ast.FunctionDef) and node.name == HOST_HALF for node in body)
    says_so = ON_THE_CONTROLLER in documentation(path)["extends_documentation_fragment"]
    assert is_host_half is not says_so


def test_the_pages_lead_to_no_internal_name():
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert path.name == "architecture.md" or "maintenance.azure._" not in text, path.name
