# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person may write about an event."""

from .azure_facts import ADVISORY, SCENARIOS, TERMINATE_NOTICE_SECONDS
from .impact import GONE, KINDS, usual_dwell
from .input_checks import (
    InputError,
    a_duration,
    a_text,
    an_integer,
    an_object,
    any_text,
    checked,
    one_of,
    texts,
)

NOT_BEFORE_FORMATS = ("rfc1123", "iso", "wrong_weekday", "missing", "empty")
EVENT_RULES = {
    "scenario": one_of(*sorted(SCENARIOS)),
    "id": a_text,
    "type": a_text,
    "status": one_of("Scheduled", "Started", ADVISORY),
    "resources": texts,
    "group": a_text,
    "source": a_text,
    "description": any_text,
    "duration": an_integer,
    "after": a_duration,
    "notice": a_duration,
    "late": a_duration,
    "approval_delay": a_duration,
    "cancel_after": a_duration,
    "dwell": a_duration,
    "impact_seconds": a_duration,
    "not_before_format": one_of(*NOT_BEFORE_FORMATS),
    "extra": an_object,
    "omit": texts,
}


# Keys that the maintenance of a whole group sets for all its events.
MAINTENANCE_RULES = {
    key: rule for key, rule in EVENT_RULES.items() if key not in ("scenario", "id", "status", "resources")
}


def checked_event(what, given, settings, rules=None, required=()):
    """The event with what its scenario adds, or InputError."""
    spec = checked(what, given, rules or EVENT_RULES, required)
    if "scenario" in spec:
        spec = dict(SCENARIOS[spec["scenario"]], **spec)
    if "type" not in spec:
        raise InputError('%s: "type" (or "scenario") is missing' % what)
    if "notice" in spec:
        check_notice(what, spec["type"], spec["notice"])
    if "impact_seconds" in spec:
        check_impact(what, spec, settings)
    return spec


def check_notice(what, event_type, notice):
    """`notice`: seconds from the creation of the event to its NotBefore."""
    shortest, longest = TERMINATE_NOTICE_SECONDS
    if event_type == "Terminate" and not shortest <= notice <= longest:
        raise InputError(
            '%s: "notice" of a Terminate event must be %d to %d seconds, not %g' % (what, shortest, longest, notice)
        )


def check_impact(what, spec, settings):
    if KINDS.get(spec["type"]) == GONE:
        raise InputError('%s: "impact_seconds" makes no sense, a VM does not come back from %s' % (what, spec["type"]))
    dwell = usual_dwell(spec["type"], spec.get("source", "Platform"), settings)
    if spec["impact_seconds"] > spec.get("dwell", dwell):
        raise InputError('%s: "impact_seconds" must not be longer than "dwell"' % what)
