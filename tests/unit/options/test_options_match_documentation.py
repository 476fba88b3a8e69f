# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules whose work an action does have no argument_spec that ansible-test could compare: this does it."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.doc_fragments._service import ModuleDocFragment
from ansible_collections.maintenance.azure.plugins.plugin_utils import _options

SPECS = {"info": _options.info_options, "approve": _options.approve_options, "wait": _options.wait_options}


@pytest.mark.parametrize("name", sorted(SPECS))
def test_documentation_and_options_are_the_same(name):
    module = importlib.import_module(f"ansible_collections.maintenance.azure.plugins.modules.scheduled_event_{name}")
    documented = yaml.safe_load(module.DOCUMENTATION)["options"]
    documented.update(yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"])
    keys = ("type", "elements", "default", "choices", "required")
    assert {option: {key: value[key] for key in keys if key in value} for option, value in documented.items()} == SPECS[
        name
    ]()
