# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DocumentIncarnation: the number of the document's content, for a whole delivery group."""

from __future__ import annotations

DAY = 86400


def incarnation(simulator, vm="web-0"):
    return simulator.document(vm)["DocumentIncarnation"]


def test_it_grows_with_each_change_of_the_list(simulator):
    seen = [incarnation(simulator)]
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    seen.append(incarnation(simulator))
    simulator.start(event["id"])
    seen.append(incarnation(simulator))
    simulator.finish(event["id"])
    seen.append(incarnation(simulator))
    assert seen == [1, 2, 3, 4]


def test_the_same_number_is_the_same_content(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"], approval_delay=600)
    first = simulator.document("web-0")
    assert simulator.document("web-0") == first
    simulator.approve("web-0", first["Events"][0]["EventId"])
    assert simulator.document("web-0") == first


def test_it_moves_for_events_of_other_vms_of_the_group_and_is_the_same_for_all(simulator):
    before = incarnation(simulator, "web-0")
    simulator.add_event(type="Reboot", resources=["web-1"])
    assert incarnation(simulator, "web-0") == incarnation(simulator, "web-1") == before + 1


def test_every_delivery_group_has_its_own(start):
    simulator = start({"vms": [{"name": "a"}, {"name": "b"}]})
    incarnation(simulator, "a")
    incarnation(simulator, "b")
    simulator.add_event(type="Reboot", resources=["a"])
    assert (incarnation(simulator, "a"), incarnation(simulator, "b")) == (2, 1)


def test_it_starts_again_after_24_hours_of_silence_observed(simulator):
    """[O] The resource agent azure-events-az deletes its stored value for this reason."""
    incarnation(simulator)
    for _time in range(3):
        simulator.cancel(simulator.add_event(type="Reboot", resources=["web-0"])["id"])
    assert incarnation(simulator) == 7
    simulator.advance(DAY + 1)
    assert incarnation(simulator) == 1


def test_it_may_be_told_not_to_start_again(start):
    simulator = start(reset_incarnation=False)
    incarnation(simulator)
    simulator.add_event(type="Reboot", resources=["web-0"], notice=3 * DAY)
    simulator.advance(DAY + 1)
    assert incarnation(simulator) > 1


def test_a_jump_of_the_clock_moves_not_before_and_so_the_number(simulator):
    simulator.add_event(type="Reboot", resources=["web-0"])
    before = simulator.document("web-0")
    simulator.advance(60)
    after = simulator.document("web-0")
    assert after["DocumentIncarnation"] > before["DocumentIncarnation"]
    assert after["Events"][0]["NotBefore"] != before["Events"][0]["NotBefore"]
