# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a simulation."""

from .input_checks import a_boolean, a_count, a_duration, a_positive_number, a_status

DEFAULT_SETTINGS = {
    "speed": 1,
    "first_call_seconds": 0,
    "events_after_seconds": 0,
    "off_after_seconds": 86400,
    "reset_incarnation": True,
    "requests_per_second": 5,
    "unknown_event_status": 200,
    "user_events_wait_when_off": True,
}

SETTING_RULES = {
    "speed": a_positive_number,
    "first_call_seconds": a_duration,
    "events_after_seconds": a_duration,
    "off_after_seconds": a_duration,
    "reset_incarnation": a_boolean,
    "requests_per_second": a_count,
    "unknown_event_status": a_status,
    "user_events_wait_when_off": a_boolean,
}
