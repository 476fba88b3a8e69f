# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a simulation, and the profiles that they start from."""

from .azure_facts import DEFAULT_DWELL_SECONDS, DOMAIN_PAUSE_SECONDS, EVENT_VERSIONS, PLATFORM_REBOOT_SECONDS
from .input_checks import a_boolean, a_count, a_duration, a_positive_number, a_status, one_of

# As Azure is, where it is slowest: the first call takes two minutes, and events show five minutes after it began.
AZURE = {
    "speed": 1,
    "first_call_seconds": 120,
    "empty_while_switching_on": True,
    "events_after_seconds": 180,
    "off_after_seconds": 86400,
    "reset_incarnation": True,
    "requests_per_second": 5,
    "unknown_event_status": 200,
    "user_events_wait_when_off": False,
    "impact": True,
    "platform_reboot_seconds": PLATFORM_REBOOT_SECONDS,
    "domain_pause_seconds": DOMAIN_PAUSE_SECONDS,
    "api_versions": list(EVENT_VERSIONS),
    "unknown_version_status": 400,
}
# For tests and demos that can't wait. Each difference is a line of a table in docs/simulator.md.
QUICK = dict(
    AZURE,
    first_call_seconds=0,
    empty_while_switching_on=False,
    events_after_seconds=0,
    user_events_wait_when_off=True,
    impact=False,
    platform_reboot_seconds=DEFAULT_DWELL_SECONDS,
    domain_pause_seconds=0,
)
PROFILES = {"azure": AZURE, "quick": QUICK}


def versions_of_events(value):
    fits = isinstance(value, list) and value and all(version in EVENT_VERSIONS for version in value)
    return None if fits else "a list of api-versions, each one of " + ", ".join(EVENT_VERSIONS)


SETTING_RULES = {
    "speed": a_positive_number,
    "first_call_seconds": a_duration,
    "empty_while_switching_on": a_boolean,
    "events_after_seconds": a_duration,
    "off_after_seconds": a_duration,
    "reset_incarnation": a_boolean,
    "requests_per_second": a_count,
    "unknown_event_status": a_status,
    "user_events_wait_when_off": a_boolean,
    "impact": a_boolean,
    "platform_reboot_seconds": a_duration,
    "domain_pause_seconds": a_duration,
    "api_versions": versions_of_events,
    "unknown_version_status": one_of(400, 404),
}
