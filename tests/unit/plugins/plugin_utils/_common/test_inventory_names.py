# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From hostvars to the hosts of an inventory by their VMs: templates, words of the user's own, and what is kept."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import needed_vars
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.readings import names_of_inventory


class Variables(dict):
    """As Ansible's: a template is resolved when a variable is taken."""

    taken = 0

    def __init__(self, raw):
        super().__init__(raw)
        self._vars = raw

    def __getitem__(self, name):
        Variables.taken += 1
        value = super().__getitem__(name)
        if value == "{{ undefined }}":
            raise AnsibleError("undefined")
        return "web-1" if value == "{{ azure_name }}" else value


HOSTVARS = {
    "a": Variables({"maintenance_vm_name": "{{ azure_name }}", "name": "{{ undefined }}"}),
    "b": Variables({"name": "Web server 1", "id": 7}),
    "web-2.x": Variables({"maintenance_status": {"this_host": {"subscription_id": "S", "resource_group": "RG"}}}),
    "web-2.y": Variables({}),
}


def test_a_template_is_resolved_and_one_that_can_not_be_is_no_reason_to_fail():
    found = needed_vars(HOSTVARS, HOSTVARS, (), texts=("maintenance_vm_name", "name", "id"))
    assert found["a"] == {"maintenance_vm_name": "web-1"}
    assert found["b"] == {"name": "Web server 1", "id": 7}
    with pytest.raises(AnsibleError):
        needed_vars(["a"], HOSTVARS, ("name",))


@pytest.mark.parametrize("word", ["{{ 7 * 7 }}", "{% if x %}", "{# x #}", "#jinja2:x"])
def test_a_word_is_taken_as_it_is_unless_it_may_be_a_template(word):
    for text, taken in ((word, 1), ("web-1", 0)):
        Variables.taken = 0
        needed_vars(["h"], {"h": Variables({"name": text})}, (), texts=("name",))
        assert Variables.taken == taken


def test_the_hosts_of_an_inventory_by_their_vms(tmp_path):
    for folder in (None, str(tmp_path), str(tmp_path)):
        names = names_of_inventory(HOSTVARS, folder)
        assert names.others("x", "web-1", None) == ["a"]
        assert names.others("x", "web-2", "s/rg") == ["web-2.x", "web-2.y"]
        # Two of one short name: where each lives, it may say itself.
        assert names.others("x", "web-2", "s/other") == ["web-2.y"]
    (kept,) = tmp_path.rglob("*.json")
    # Of another inventory: made anew.
    kept.write_text('{"hosts": ["a"], "known": {}}')
    assert names_of_inventory(HOSTVARS, str(tmp_path)).others("x", "web-1", None) == ["a"]
