# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each host half may answer. A key that is not here never reaches a result."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import STATES, STATUSES
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.answers import (
    flag,
    keyed,
    list_of,
    mapping,
    maybe,
    message,
    number,
    one_of,
    text,
    whole,
    words,
)

_SHORT = maybe(message)

# The host's own time. It goes back to the host that told it, and nowhere else.
CLOCK = keyed({"boot_id": _SHORT, "seconds": maybe(number)})

# What the metadata service said, as it came. Its headers and the host's clock are of no use here.
_SERVICE_ANSWER = keyed({"status": whole, "body": text})
_READ = {"endpoint": message, "events": _SERVICE_ANSWER, "instance": maybe(_SERVICE_ANSWER)}
_RUN_MARK = keyed({"reflexes": flag, "left": flag})
EXCHANGE = keyed(
    {
        "answers": keyed(
            _READ,
            {
                "api_version": one_of(API_VERSIONS),
                "sent": flag,
                "problem": maybe(keyed({"message": message, "unclear": flag})),
                "clock": maybe(CLOCK),
                "run_mark": maybe(_RUN_MARK),
            },
        )
    },
)

# An event as `maintenance_status` has it, out of a journal.
_EVENT = keyed(
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
        "description": maybe(words),
        "affects_this_host": maybe(flag),
    },
)
_JOURNAL_STEP = keyed(
    {
        "number": whole,
        "kind": message,
        "arguments": mapping,
        "before": maybe(mapping),
        "status": one_of(STATUSES),
    },
    {"started_at": _SHORT, "ended_at": _SHORT, "error": message, "event": _SHORT},
)
_JOURNAL = keyed(
    {"state": one_of((*STATES, "restored")), "events": list_of(_EVENT), "steps": list_of(_JOURNAL_STEP)},
    {
        "version": whole,
        "run_id": _SHORT,
        "boot_id": _SHORT,
        "started_at": _SHORT,
        "drained_at": _SHORT,
        "restored_at": _SHORT,
        "marks": list_of(
            keyed(
                {"event": message, "hosts": list_of(message), "at": number},
                {"takes_down": flag, "vanishing": flag, "again": flag},
            )
        ),
        "worked_on_for": number,
        "steps_digest": _SHORT,
    },
)
JOURNAL = keyed(
    {"changed": flag, "journal": maybe(_JOURNAL), "boot_id": _SHORT, "now": message}, {"clock": maybe(CLOCK)}
)

_RECORD = keyed(
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
RECORDS = keyed({"changed": flag, "records": list_of(_RECORD), "unreadable": list_of(message)})

_HEALTH = keyed({"check": mapping, "ok": flag, "said": message})
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
    "step": keyed(
        {"number": whole, "kind": message, "status": one_of(STATUSES), "before": maybe(mapping)},
        {"seconds": number},
    ),
    "health": list_of(_HEALTH),
}
# Of several steps, the last may have failed.
_RESULT = keyed({"changed": flag}, {**_ONE_STEP, "failed": flag, "msg": message})
# A reading that a drain has brought along.
_LOOK = keyed(
    {
        "clock": CLOCK,
        "answers": keyed(_READ, {"api_version": one_of(API_VERSIONS)}),
        "run_mark": maybe(_RUN_MARK),
        "journal": maybe(_JOURNAL),
    }
)
STEP = keyed(
    {"changed": flag},
    {**_ONE_STEP, "results": list_of(_RESULT), "journal": maybe(_JOURNAL), "look": maybe(_LOOK)},
)

# What a Windows host says of one deed, see _windows_host.ps1.
_DEED = keyed(
    {},
    {
        "problem": _SHORT,
        "said": _SHORT,
        "answer": text,
        "body_sha256": _SHORT,
        "content": maybe(text),
        "sha256": _SHORT,
        "replaced": flag,
        "count": maybe(whole),
        "uptime": number,
    },
)
DEEDS = keyed({"results": list_of(_DEED)})

_OWNER = keyed(
    {
        "run_id": message,
        "controller": message,
        "host": message,
        "pid": whole,
        "process_start": message,
        "user": message,
        "note": message,
        "taken_at": message,
    },
    {"seconds_left": whole, "reason": one_of(("dead", "expired"))},
)
# What a run is about to do to a host. What a lock host is given has the same shape as what it gives.
NOTE = keyed(
    {
        "host": message,
        "events": list_of(message),
        "type": message,
        "run": message,
        "at": number,
        "mark": maybe(
            keyed(
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
LEASE = keyed(
    {
        "held": flag,
        "changed": flag,
        "renewed": flag,
        "holder": maybe(_OWNER),
        "took_over_from": maybe(_OWNER),
        "notes": list_of(NOTE),
        "remembers": number,
        "too_new_for": maybe(number),
    },
)
