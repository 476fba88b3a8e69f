# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules document is what their actions take, as ansible-test sees no argument_spec of an action."""

from __future__ import annotations

import importlib
import pathlib
import re

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins import modules
from ansible_collections.maintenance.azure.plugins.action import _run
from ansible_collections.maintenance.azure.plugins.plugin_utils._common import options as _options

SPECS = {
    "scheduled_event_info": _options.info_options(),
    "scheduled_event_approve": _options.approve_options(),
    "scheduled_event_wait": _options.wait_options(),
    "drain_journal": _options.journal_options(),
    "lease": _options.lease_options(),
    "_report": _options.report_options(),
    "_run": _run.OPTIONS,
}
# By what the option `do` says.
BY_DO = {
    "_approve": _options.approval_options(),
    "_check": _options.check_options(),
    "_drain": _options.drain_options(),
    "_lease": _options.lock_options(),
    "_read": _options.read_options(),
    "_watch": _options.watch_options(),
}
# Their .py or .ps1 has an argument_spec.
ON_HOSTS = {"_host_command", "_windows_host"}
KEYS = ("type", "elements", "default", "choices", "required")


def documented_options(name):
    """Each option as it is documented; and those of the module itself, not of a fragment."""
    documentation = documentation_of(f"modules.{name}").DOCUMENTATION
    own = yaml.safe_load(documentation)
    found = dict(own.get("options", {}))
    for fragment in own["extends_documentation_fragment"]:
        file, _dot, part = fragment.removeprefix("maintenance.azure.").partition(".")
        text = getattr(documentation_of(f"doc_fragments.{file}").ModuleDocFragment, part.upper() or "DOCUMENTATION")
        found.update(yaml.safe_load(text).get("options", {}))
    return found, own.get("options", {})


def documentation_of(name):
    return importlib.import_module(f"ansible_collections.maintenance.azure.plugins.{name}")


def in_short(options):
    """What the documentation says about options, in the words of an argument_spec."""
    return {
        option: {
            **{key: value[key] for key in KEYS if key in value},
            **({"options": in_short(value["suboptions"])} if "suboptions" in value else {}),
        }
        for option, value in options.items()
    }


def test_every_module_is_compared():
    found = {path.stem for path in pathlib.Path(modules.__path__[0]).glob("*.py")} - {"__init__"}
    assert found == {*SPECS, *BY_DO, *ON_HOSTS}


@pytest.mark.parametrize("name", sorted(SPECS))
def test_documentation_and_options_are_the_same(name):
    documented, _own = documented_options(name)
    spec = {
        option: {key: list(v) if key == "choices" else v for key, v in one.items()}
        for option, one in SPECS[name].items()
    }
    assert in_short(documented) == spec


@pytest.mark.parametrize("name", sorted(BY_DO))
def test_documentation_and_options_of_each_do_are_the_same(name):
    documented, own = documented_options(name)
    assert documented.pop("do")["choices"] == list(BY_DO[name])
    takes = {option: {do for do, spec in BY_DO[name].items() if option in spec} for option in documented}
    for do, spec in BY_DO[name].items():
        without = {option: {key: v for key, v in one.items() if key != "required"} for option, one in spec.items()}
        assert without == in_short({option: one for option, one in documented.items() if do in takes[option]})
    for option in set(own) - {"do"}:
        told = re.findall(r"With (O\(do=\w+\)(?: and O\(do=\w+\))*)", str(own[option]["description"]))
        named = set(re.findall(r"do=(\w+)", " ".join(told)))
        assert (named or set(BY_DO[name])) == takes[option], option
