# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules whose work an action does have no argument_spec that ansible-test could compare: this does it."""

from __future__ import annotations

import importlib

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.doc_fragments._fence import ModuleDocFragment as Fence
from ansible_collections.maintenance.azure.plugins.doc_fragments._service import ModuleDocFragment
from ansible_collections.maintenance.azure.plugins.plugin_utils._common import options as _options

SPECS = {
    "scheduled_event_info": _options.info_options,
    "scheduled_event_approve": _options.approve_options,
    "scheduled_event_wait": _options.wait_options,
    "lease": _options.lease_options,
    "_lease_lock_hosts": _options.lease_lock_hosts_options,
    "_lease_verdict": _options.lease_verdict_options,
    "_write_report": _options.report_options,
    "_host_state": _options.state_options,
    "_check_host": _options.check_host_options,
    "_check_machine": _options.check_machine_options,
    "_check_lock_hosts": _options.check_lock_hosts_options,
    "_check_fleet": _options.check_fleet_options,
    "_watch_settings": _options.watch_settings_options,
    "_watch_program": _options.watch_program_options,
}
FRAGMENTS = {
    "maintenance.azure._service": ModuleDocFragment.DOCUMENTATION,
    "maintenance.azure._service.wait": ModuleDocFragment.WAIT,
    "maintenance.azure._fence": Fence.DOCUMENTATION,
    "maintenance.azure._fence.marks": Fence.MARKS,
    "maintenance.azure._fence.run": Fence.RUN,
}
KEYS = ("type", "elements", "default", "choices", "required")


@pytest.mark.parametrize("name", sorted(SPECS))
def test_documentation_and_options_are_the_same(name):
    module = importlib.import_module(f"ansible_collections.maintenance.azure.plugins.modules.{name}")
    documentation = yaml.safe_load(module.DOCUMENTATION)
    documented = documentation.get("options", {})
    for fragment, text in FRAGMENTS.items():
        if fragment in documentation["extends_documentation_fragment"]:
            documented.update(yaml.safe_load(text)["options"])
    assert told(documented) == SPECS[name]()


def told(options):
    """What the documentation says about options, in the words of an argument_spec."""
    return {
        option: {
            **{key: value[key] for key in KEYS if key in value},
            **({"options": told(value["suboptions"])} if "suboptions" in value else {}),
        }
        for option, value in options.items()
    }
