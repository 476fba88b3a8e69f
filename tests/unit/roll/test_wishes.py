# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user has set, in all forms in which Ansible hands it over."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.wishes import Wishes, read_wishes


@pytest.mark.parametrize(
    "nothing", [{}, {"maintenance_min_in_service": None, "drain_timeout": "", "plan_only": "None"}]
)
def test_what_is_left_out_has_its_default(nothing):
    wishes = read_wishes(nothing)
    assert (wishes.patience, wishes.healthy_timeout, wishes.oldest_reading) == (1800.0, 600.0, 40.0)
    assert (wishes.settings.min_in_service, wishes.settings.overlap, wishes.plan_only) == (None, "wait", False)
    assert wishes.uncovered == Wishes().uncovered


def test_texts_do_as_well():
    wishes = read_wishes(
        {
            "approve_wait_timeout": "5",
            "drain_reserve": 0,
            "maintenance_min_in_service": " 50 % ",
            "maintenance_continue_after_failure": "yes",
            "maintenance_overlap": "proceed",
            "plan_only": "False",
        }
    )
    assert (wishes.patience, wishes.settings.reserve, wishes.settings.min_in_service) == (5.0, 0.0, "50 %")
    assert (wishes.continue_after_failure, wishes.settings.overlap, wishes.plan_only) == (True, "proceed", False)


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"approve_wait_timeout": "30m"}, "approve_wait_timeout must be a whole number of seconds"),
        ({"restore_timeout": 0}, "restore_timeout must be a whole number of seconds"),
        ({"drain_timeout": True}, "drain_timeout must be a whole number of seconds"),
        ({"maintenance_overlap": "maybe"}, "maintenance_overlap must be wait or proceed"),
        ({"maintenance_on_failed_drain": "cry"}, "maintenance_on_failed_drain must be restore or leave"),
        ({"maintenance_min_in_service": "most"}, "maintenance_min_in_service must be a number of hosts or a share"),
        ({"maintenance_continue_after_failure": "perhaps"}, "must be true or false"),
    ],
)
def test_what_can_not_be_used_is_said(setting, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_wishes(setting)
