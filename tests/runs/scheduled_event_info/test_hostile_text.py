# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from the service is text: never a template, on any ansible-core."""

from __future__ import annotations

import pytest
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator

HOSTILE = "{{ lookup('pipe', 'touch TRAP') }}{% for i in [1] %}x{% endfor %}{{ 7 * 191 }}"


@pytest.fixture(scope="module")
def trap(tmp_path_factory):
    return tmp_path_factory.mktemp("trap") / "evaluated"


@pytest.fixture(scope="module")
def simulator(trap):
    text = HOSTILE.replace("TRAP", str(trap))
    with Simulator({"vms": [{"name": "web", "compute": {"location": text}}]}) as fleet:
        fleet.add_event(
            id=text,
            type="Reboot",
            resources=["web"],
            description=text,
            extra={"EventType": text, "Impact": {text: [text]}},
        )
        yield fleet


def test_hostile_text_comes_back_as_it_is(tmp_path, simulator, trap):
    text = HOSTILE.replace("TRAP", str(trap))
    outcome = play(
        tmp_path,
        fleet_inventory(tmp_path, simulator),
        {
            "name": "Read",
            "maintenance.azure.scheduled_event_info": {"query": "events[0].description"},
            "register": "reading",
        },
        {"name": "Print", "ansible.builtin.debug": {"var": "reading"}},
        {"name": "Say", "ansible.builtin.debug": {"msg": "{{ reading.events[0].description }}"}},
        {"name": "Keep", "ansible.builtin.set_fact": {"maintenance_status": "{{ reading }}", "cacheable": True}},
        {"name": "Say kept", "ansible.builtin.debug": {"msg": "{{ maintenance_status.events[0].type }}"}},
        {
            "name": "Loop",
            "ansible.builtin.debug": {"msg": "{{ item.other_fields }} {{ item.id }}"},
            "loop": "{{ maintenance_status.events }}",
        },
        {"name": "Compute", "ansible.builtin.debug": {"msg": "{{ maintenance_status.this_host.location }}"}},
    )
    assert outcome.code == 0, outcome.output
    result = outcome.of("Read")
    assert result["events"][0]["description"] == text
    assert result["events"][0]["type"] == text
    assert result["events"][0]["id"] == text
    assert result["events"][0]["other_fields"] == {"Impact": {text: [text]}}
    assert result["query_result"] == text
    for task in ("Say", "Say kept", "Compute"):
        assert outcome.of(task)["msg"] == text
    assert outcome.of("Loop")["results"][0]["msg"].endswith(text)
    assert "1337" not in outcome.output
    assert not trap.exists()
