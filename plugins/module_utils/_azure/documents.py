# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parsing and interpretation of Azure's event documents: times, texts, and event types.

Azure's field names appear only here and in the facts of the check. No I/O and no clock.
This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import json
import re
import time

# Dates are computed by hand, because a watcher keeps this file in memory and modules for dates take a megabyte each.

_ISO_TIME = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$", re.IGNORECASE
)
# The weekday is not trusted: Microsoft's own samples have wrong ones.
_HTTP_TIME = re.compile(r"(?:[A-Za-z]+, *)?(\d\d?) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


# The range of four-digit years: a time beyond it could not be formatted again.
_FIRST, _LAST = -62135596800.0, 253402300799.0


def timestamp(value):
    """Convert a time in any of Azure's formats to seconds since the epoch, or return None."""
    if not isinstance(value, str) or not value.strip():
        return None
    moment = _read(value.strip())
    return moment if moment is not None and _FIRST <= moment <= _LAST else None


def _read(text):
    iso = _ISO_TIME.match(text)
    if iso:
        year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
        moment = _moment(year, month, day, hour, minute, second)
        return None if moment is None else moment - _offset(iso.group(7))
    http = _HTTP_TIME.match(text)
    if http and http.group(2).lower() in _MONTHS:
        day, year, hour, minute, second = (int(http.group(number)) for number in (1, 3, 4, 5, 6))
        moment = _moment(year, _MONTHS.index(http.group(2).lower()) + 1, day, hour, minute, second)
        if moment is not None:
            return moment
    return _unusual(text)


def iso(moment):
    """Format a time as in `read_at` and `not_before`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _moment(year, month, day, hour, minute, second):
    """Convert a date and time in UTC to seconds since the epoch, or return None if it does not exist."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year >= 1 and 1 <= month <= 12 and hour <= 23 and minute <= 59 and second <= 61):
        return None
    if not 1 <= day <= _DAYS_IN_MONTH[month - 1] + (month == 2 and leap):
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += sum(_DAYS_IN_MONTH[: month - 1]) + (month > 2 and leap) + day - 1
    return float(((days * 24 + hour) * 60 + minute) * 60 + second)


def _offset(zone):
    if not zone or zone.upper() == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (1 if zone[0] == "+" else -1)


def _unusual(text):
    # Imported late, because it is large and rarely needed.
    import email.utils

    try:
        parts = email.utils.parsedate_tz(text)
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, IndexError, OverflowError, TypeError):
        return None


# Limits, so that one host's answer can't stall the run for others. A group has at most a thousand VMs, and as many
# events.
LARGEST_DOCUMENT = 1024 * 1024
MOST_PARTS = 10000
MOST_VALUES = 100000
DEEPEST_PART = 20
# Parsing an integer takes quadratic time on versions of Python without a limit of their own.
LONGEST_NUMBER = 1000

# Characters that a terminal interprets or hides: control characters (also above 127), changes of the text's direction,
# zero-width characters, Unicode line ends, and lone surrogates. By code, as Unicode tables differ between Pythons.
_OBEYED = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)


def visible(text):
    r"""Return the text on one line, with characters that a terminal interprets written as in `\x1b`."""
    return _OBEYED.sub(lambda found: ascii(found.group(0))[1:-1], text)


def visible_in(value, depth=DEEPEST_PART):
    """Apply `visible` to all texts in data. Anything nested deeper than a document is left out."""
    if isinstance(value, (dict, list)) and not depth:
        return None
    if isinstance(value, dict):
        return {visible_in(key): visible_in(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [visible_in(one, depth - 1) for one in value]
    return visible(value) if isinstance(value, str) else value


class BadJson(ValueError):
    """JSON that is ambiguous or larger than any document. The message continues a sentence after a name."""


def json_of(text, largest=LARGEST_DOCUMENT, most_parts=MOST_PARTS, most_values=MOST_VALUES, deepest=DEEPEST_PART):
    """Parse the answer of a service or a host. Raise ValueError, and BadJson where it is JSON but can't be trusted.

    The size is checked before parsing.
    """
    if len(text) > largest:
        raise BadJson("is larger than %d characters" % largest)
    if text.count("{") + text.count("[") > most_parts or text.count(",") > most_values:
        raise BadJson("has more than %d parts or %d values" % (most_parts, most_values))
    try:
        data = json.loads(text, object_pairs_hook=_each_key_once, parse_int=_whole)
    except RecursionError:
        raise BadJson("is nested too deeply") from None
    _check_depth(data, deepest)
    return data


def _each_key_once(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        seen = set()
        twice = next(key for key, _value in pairs if key in seen or seen.add(key))
        raise BadJson("has the key %r twice, so that it could be read in two ways" % twice[:60])
    return found


def _whole(digits):
    if len(digits) > LONGEST_NUMBER:
        raise BadJson("holds a number of more than %d digits" % LONGEST_NUMBER)
    return int(digits)


def _check_depth(data, deepest):
    parts = [data]
    for _depth in range(deepest):
        inside = []
        for part in parts:
            inside.extend(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())
        parts = [part for part in inside if isinstance(part, (dict, list))]
        if not parts:
            return
    raise BadJson("is nested too deeply")


class NotUnderstood(Exception):
    """Raised for text that is not an event document, which must never count as one without events."""


def statuses_in(text):
    """Map event ids, in lower case, to statuses. Of duplicates Started wins, as an event can't go back."""
    try:
        events = json_of(text)["Events"]
        if not isinstance(events, list):
            raise ValueError(events)
        found = {}
        for event in events:
            event_id, status = event["EventId"].strip().casefold(), event["EventStatus"].strip()
            if found.get(event_id) != "Started":
                found[event_id] = status
        return found
    except (ValueError, KeyError, TypeError, AttributeError):
        raise NotUnderstood("What the service answered is no event document") from None


def incarnation_of(text):
    """Return the incarnation of a document, or None."""
    try:
        found = json_of(text)["DocumentIncarnation"]
    except (ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, int) else None


# `since`: older api-versions hide such events. `announced`: the status before the start. `takes_down`: the VM stops and
# is not just paused. `takes_away`: the VM does not return. `others_may_approve`: VMs that it does not name may.
# `blocks`: events that must wait for it. A Redeploy wipes the disk, and with it the journal; Azure deletes no VM before
# all announced deletions are approved.
EventType = collections.namedtuple("EventType", "name since announced takes_down takes_away others_may_approve blocks")
NOTHING, SAME_VM, SAME_TYPE = "nothing", "other events of the VM", "other events of the type"
_EVENT_TYPES = (
    EventType("Freeze", "2017-03-01", "Scheduled", False, False, True, NOTHING),
    EventType("Reboot", "2017-03-01", "Scheduled", True, False, True, NOTHING),
    EventType("Redeploy", "2017-03-01", "Scheduled", True, False, True, SAME_VM),
    EventType("Preempt", "2017-11-01", "Scheduled", True, True, True, NOTHING),
    EventType("Terminate", "2019-01-01", "Scheduled", True, True, False, SAME_TYPE),
)
# Types that Azure may add are handled like a Reboot.
_UNKNOWN_TYPE = EventType("", "", "Scheduled", True, False, True, NOTHING)
EVENT_TYPES = {known.name: known for known in _EVENT_TYPES}
STATUSES = tuple(sorted({"Started"}.union(known.announced for known in _EVENT_TYPES)))
SOURCES = ("Platform", "User")
SOURCE_SINCE = "2019-08-01"


def event_type(name):
    return EVENT_TYPES.get(str(name), _UNKNOWN_TYPE)


def takes_away(event):
    """Return True if the event removes the VM for good."""
    return event_type(event.get("type")).takes_away


_KNOWN_WORDS = {word.lower(): word for word in tuple(EVENT_TYPES) + STATUSES + SOURCES}
IDENTITY_FIELDS = {
    "vm_name": "name",
    "vm_id": "vmId",
    "resource_id": "resourceId",
    "resource_group": "resourceGroupName",
    "subscription_id": "subscriptionId",
    "location": "location",
    "zone": "zone",
    "update_domain": "platformUpdateDomain",
    "fault_domain": "platformFaultDomain",
    "scale_set": "vmScaleSetName",
    "placement_group": "placementGroupId",
}
_EVENT_FIELDS = frozenset(
    (
        "EventId",
        "EventType",
        "EventStatus",
        "EventSource",
        "ResourceType",
        "Resources",
        "NotBefore",
        "DurationInSeconds",
        "Description",
    )
)


# A group has at most a thousand VMs. Each event costs a run some milliseconds for each host that shows it.
MOST_EVENTS = 1000


class BadReading(ValueError):
    """Raised for a document that can't be trusted. The message names the defect."""


def json_object(body, what, **limits):
    try:
        data = json_of(body, **limits)
    except BadJson as error:
        raise BadReading("%s %s: %r" % (what, error, body[:120])) from None
    except ValueError as error:
        raise BadReading("%s is not JSON (%s): %r" % (what, error, body[:120])) from None
    if not isinstance(data, dict):
        raise BadReading("%s is not a JSON object: %r" % (what, body[:120]))
    return data


def parse_document(body):
    """Parse an event document into {document_incarnation, events}: absolute times, nothing about a host."""
    return understand_document(json_object(body, "The event document"))


def understand_document(data):
    missing = [key for key in ("DocumentIncarnation", "Events") if key not in data]
    if missing:
        raise BadReading("The event document has no %s: %s" % (" and no ".join(missing), str(data)[:120]))
    if not isinstance(data["Events"], list):
        raise BadReading("Events in the event document is not a list: %s" % str(data["Events"])[:120])
    if len(data["Events"]) > MOST_EVENTS:
        raise BadReading("The event document has %d events, more than %d" % (len(data["Events"]), MOST_EVENTS))
    incarnation = data["DocumentIncarnation"]
    if isinstance(incarnation, bool) or not isinstance(incarnation, (int, str)):
        raise BadReading("DocumentIncarnation in the event document is not a number: %r" % (incarnation,))
    number = whole_number(incarnation)
    return {
        "document_incarnation": visible(incarnation) if number is None else number,
        "events": each_once([_event(raw, position) for position, raw in enumerate(data["Events"], start=1)]),
    }


# The fields that policies evaluate, besides the status.
JUDGED_BY = ("type", "source", "duration_seconds", "description", "not_before")


def is_as_judged(body, judged, may_have_started):
    """Check that the judged events are unchanged, and that no other event has started unexpectedly.

    In a large group the document changes constantly, as others of the same wave are approved. `judged` holds the parsed
    events with `id`, `resources` and JUDGED_BY; `may_have_started` the ids that had started or that the wave starts.
    """
    try:
        events = parse_document(body)["events"]
    except BadReading:
        return False
    allowed = {canonical_id(event_id) for event_id in may_have_started}
    if any(event["status"] == "Started" and canonical_id(event["id"]) not in allowed for event in events):
        return False
    shown = {canonical_id(event["id"]): event for event in events if event["status"] == "Scheduled"}
    return all(_is_the_same(event, shown.get(canonical_id(event["id"]))) for event in judged)


def _is_the_same(event, now):
    if now is None or any(now[key] != event[key] for key in JUDGED_BY):
        return False
    return sorted(map(canonical_name, now["resources"])) == sorted(map(canonical_name, event["resources"]))


def _event(raw, position):
    if not isinstance(raw, dict):
        raise BadReading("Event number %d is not an object: %s" % (position, str(raw)[:120]))
    event_id = raw.get("EventId")
    if not isinstance(event_id, str) or not event_id.strip():
        raise BadReading("Event number %d has no EventId: %s" % (position, str(raw)[:200]))
    for key in ("EventType", "EventStatus"):
        if not isinstance(raw.get(key), str) or not raw[key].strip():
            raise BadReading("Event %s has no %s: %s" % (event_id, key, str(raw)[:200]))
    resources = raw.get("Resources")
    if not isinstance(resources, list) or not all(isinstance(name, str) for name in resources):
        raise BadReading("Resources of event %s is not a list of VM names: %s" % (event_id, str(resources)[:120]))
    status = known_word(raw["EventStatus"])
    due = timestamp(raw.get("NotBefore"))
    other = {key: value for key, value in raw.items() if key not in _EVENT_FIELDS}
    if due is None and raw.get("NotBefore"):
        other["NotBefore"] = raw["NotBefore"]
    duration = whole_number(raw.get("DurationInSeconds"))
    event = {
        "id": visible(event_id),
        "type": known_word(raw["EventType"]),
        "status": status,
        "source": known_word(raw["EventSource"]) if text_of(raw.get("EventSource")) else None,
        "resource_type": text_of(raw.get("ResourceType")),
        "resources": [without_underscore(visible(name)) for name in resources],
        "not_before": None if due is None or status == "Started" else iso(due),
        "duration_seconds": duration if duration is not None and duration >= 0 else None,
        "description": text_of(raw.get("Description")) or "",
    }
    if other:
        event["other_fields"] = visible_in(other)
    return event


def each_once(events):
    """Merge events with the same id: the VMs of both count, other fields are those of the more urgent."""
    found = {}
    for event in events:
        event_id = canonical_id(event["id"])
        found[event_id] = _together(found[event_id], event) if event_id in found else event
    return list(found.values())


def _together(first, second):
    names = {canonical_name(name): name for name in second["resources"] + first["resources"]}
    order = dict.fromkeys(canonical_name(name) for name in first["resources"] + second["resources"])
    urgent = min(first, second, key=_urgency)
    return dict(urgent, id=first["id"], resources=[names[name] for name in order])


def _urgency(event):
    """Sort Started first, then events without a date. Times have one format, so they compare as text."""
    return event["status"] != "Started", event["not_before"] is not None, event["not_before"] or ""


def parse_identity(body):
    """Return the VM's identity from its instance metadata (the compute part), or None if that has no name."""
    compute = json_object(body, "The instance metadata")
    identity = {ours: text_of(compute.get(azures)) for ours, azures in IDENTITY_FIELDS.items()}
    return identity if identity["vm_name"] else None


def build_status(document, identity, read_at, vm_name=None):
    """Build `maintenance_status` for a host. `vm_name` is used where the identity was not requested."""
    name = identity["vm_name"] if identity else vm_name
    events = []
    for known in document["events"]:
        event = dict(known, resources=list(known["resources"]))
        if "other_fields" in known:
            # A deep copy, as fields that Azure adds may be nested.
            event["other_fields"] = json.loads(json.dumps(known["other_fields"]))
        event["affects_this_host"] = None if name is None else names_host(event, name)
        events.append(event)
    status = {
        "this_host": identity,
        "document_incarnation": document["document_incarnation"],
        "events": events,
        "read_at": iso(read_at),
    }
    return refresh(status, read_at)


def refresh(status, now):
    """Update the fields that depend on the time and on the list of events: `seconds_left` and `pending`."""
    for event in status["events"]:
        due = None if event["not_before"] is None else timestamp(event["not_before"])
        event["seconds_left"] = None if due is None else max(0, int(due - now))
    status["pending"] = any(event["status"] == "Scheduled" for event in status["events"])
    return status


def canonical_name(name):
    """Normalize a VM's name for comparison: case-folded, without the leading underscore of 2017-03-01."""
    return without_underscore(name.strip()).casefold()


def canonical_id(event_id):
    return event_id.strip().casefold()


def names_host(event, vm_name):
    return canonical_name(vm_name) in [canonical_name(name) for name in event["resources"]]


def types_never_shown(api_version):
    """Return the event types that this api-version hides."""
    return [known.name for known in _EVENT_TYPES if known.since > api_version]


def approval_body(event_ids, api_version, incarnation):
    """Build the body of the request that starts these events."""
    body = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
    if api_version == "2017-03-01":
        body["DocumentIncarnation"] = incarnation
    return json.dumps(body)


def without_underscore(name):
    # Names of Azure VMs never start with an underscore, so it comes from 2017-03-01.
    return name[1:] if name.startswith("_") else name


def known_word(word):
    return visible(_KNOWN_WORDS.get(word.strip().lower(), word.strip()))


def text_of(value):
    return None if value is None or value == "" else visible(str(value))


def whole_number(value):
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


CONFIRMED = "approval confirmed"
GONE = "gone"
EFFECTS = ("Started", GONE)


def effects_of_marks(journal, statuses, at, incarnation):
    """Map the marked events that have started or are over to {shown, at, incarnation}.

    `statuses` maps the event ids of one good reading, in lower case, to statuses.
    """
    found = {}
    for mark in journal.get("marks") or ():
        shown = statuses.get(_key(mark["event"]), GONE)
        if shown in EFFECTS:
            found[mark["event"]] = {"shown": shown, "at": at, "incarnation": incarnation}
    return found


def newly_confirmed(journal, effects):
    """Return the audit details of approvals sent from this host that are confirmed but not yet recorded."""
    seen = {_key(event_id): effect for event_id, effect in effects.items()}
    found = []
    for mark in journal.get("marks") or ():
        effect = seen.get(_key(mark["event"]))
        if effect and mark.get("sent_from_here") and not mark.get("confirmed"):
            details = {"event": mark["event"], "shown": effect.get("shown"), "seen_at": effect.get("at")}
            details.update(incarnation=effect.get("incarnation"), sent_at=_time(mark.get("at")))
            found.append(details)
    return found


def with_confirmed(journal, told):
    """Return the journal with these approvals marked as confirmed."""
    known = {_key(details["event"]) for details in told}
    marks = [dict(mark, confirmed=True) if _key(mark["event"]) in known else mark for mark in journal.get("marks", [])]
    return dict(journal, marks=marks) if known else journal


def _key(event_id):
    return event_id.strip().casefold()


def _time(seconds):
    try:
        # gmtime(None) would be the current time.
        return None if seconds is None else iso(seconds)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
