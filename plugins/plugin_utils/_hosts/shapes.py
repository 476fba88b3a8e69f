# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host half may answer. A key that is not here never reaches a result."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import STATES, STATUSES
from ansible_collections.maintenance.azure.plugins.module_utils._service.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import (
    flag,
    list_of,
    mapping,
    maybe,
    message,
    number,
    one_of,
    record,
    text,
    whole_number,
)

_SHORT = maybe(message)

# The host's own time. It goes back to the host that told it, and nowhere else.
CLOCK = record({"boot_id": _SHORT, "seconds": maybe(number)})

# What the metadata service said, as it came. Its headers and the host's clock are of no use here.
_SERVICE_ANSWER = record({"status": whole_number, "body": text})
EXCHANGE = record(
    {
        "answers": record(
            {"endpoint": message, "events": _SERVICE_ANSWER, "instance": maybe(_SERVICE_ANSWER)},
            {
                "api_version": one_of(API_VERSIONS),
                "sent": flag,
                "problem": maybe(record({"message": message, "unclear": flag})),
                "clock": maybe(CLOCK),
            },
        )
    },
)

# An event as `maintenance_status` has it, out of a journal.
_EVENT = record(
    {},
    {
        "id": message,
        "type": message,
        "status": message,
        "source": _SHORT,
        "resource_type": _SHORT,
        "resources": list_of(message),
        "not_before": _SHORT,
        "seconds_left": maybe(number),
        "duration_seconds": maybe(number),
        "description": maybe(text),
        "affects_this_host": maybe(flag),
    },
)
_JOURNAL_STEP = record(
    {
        "number": whole_number,
        "kind": message,
        "arguments": mapping,
        "before": maybe(mapping),
        "status": one_of(STATUSES),
    },
    {"started_at": _SHORT, "ended_at": _SHORT, "error": message, "event": _SHORT},
)
_JOURNAL = record(
    {"state": one_of((*STATES, "restored")), "events": list_of(_EVENT), "steps": list_of(_JOURNAL_STEP)},
    {
        "version": whole_number,
        "run_id": _SHORT,
        "boot_id": _SHORT,
        "started_at": _SHORT,
        "drained_at": _SHORT,
        "restored_at": _SHORT,
        "marks": list_of(
            record(
                {"event": message, "hosts": list_of(message), "at": number},
                {"takes_down": flag, "vanishing": flag, "again": flag},
            )
        ),
        "worked_on_for": number,
    },
)
JOURNAL = record(
    {"changed": flag, "journal": maybe(_JOURNAL), "boot_id": _SHORT, "now": message}, {"clock": maybe(CLOCK)}
)

_RECORD = record(
    {
        "host": message,
        "vm": message,
        "types": list_of(message),
        "events": list_of(message),
        "run_id": message,
        "at": message,
        "path": message,
    }
)
RECORDS = record({"changed": flag, "records": list_of(_RECORD), "unreadable": list_of(message)})

_HEALTH = record({"check": mapping, "ok": flag, "said": message})
_ONE_STEP = {
    "changed": flag,
    "before": maybe(mapping),
    "found": flag,
    "done": list_of(message),
    "remarks": list_of(message),
    "state": maybe(one_of((*STATES, "restored"))),
    "drained_at": _SHORT,
    "restored_at": _SHORT,
    "boot_id": _SHORT,
    "now": message,
    "step": record(
        {"number": whole_number, "kind": message, "status": one_of(STATUSES), "before": maybe(mapping)},
        {"seconds": number},
    ),
    "health": list_of(_HEALTH),
}
# Of several steps, the last may have failed.
_RESULT = record({"changed": flag}, {**_ONE_STEP, "failed": flag, "msg": message})
STEP = record(
    {"changed": flag},
    {**_ONE_STEP, "results": list_of(_RESULT), "journal": maybe(_JOURNAL)},
)

_OWNER = record(
    {
        "run_id": message,
        "controller": message,
        "host": message,
        "pid": whole_number,
        "process_start": message,
        "user": message,
        "note": message,
        "taken_at": message,
    },
    {"seconds_left": whole_number, "reason": one_of(("dead", "expired"))},
)
# What a run is about to do to a host. What a keeper is given has the same shape as what it gives.
NOTE = record(
    {
        "host": message,
        "events": list_of(message),
        "type": message,
        "run": message,
        "at": number,
        "mark": maybe(
            record(
                {
                    "event": message,
                    "hosts": list_of(message),
                    "at": number,
                    "takes_down": flag,
                    "vanishing": flag,
                }
            )
        ),
    }
)
LEASE = record(
    {
        "held": flag,
        "changed": flag,
        "renewed": flag,
        "holder": maybe(_OWNER),
        "took_over_from": maybe(_OWNER),
        "notes": list_of(NOTE),
    },
)
