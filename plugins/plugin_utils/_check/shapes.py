# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the host half of the playbook check may answer. A key that is not here never reaches a result."""

from __future__ import annotations

from ansible_collections.maintenance.azure.plugins.plugin_utils._host import answers as _answers
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.answers import (
    Shape,
    flag,
    keyed,
    list_of,
    mapping,
    maybe,
    message,
    number,
    text,
    whole,
)


def _by_name(shape: Shape) -> Shape:
    """A mapping of any names to values of one shape."""
    return lambda value: {message(name): shape(one) for name, one in mapping(value).items()}


# The shape of the whole answer about a journal, of which only the journal itself is taken.
def _journal(value: object) -> object:
    whole = {"changed": False, "journal": value, "boot_id": None, "now": ""}
    return _answers.JOURNAL(whole)["journal"]


_RECORD = keyed(
    {"file": message, "problem": message},
    {
        "host": message,
        "vm": message,
        "types": list_of(message),
        "run_id": message,
        "at": message,
        "events": list_of(message),
    },
)
_WATCHER = keyed(
    {
        "installed": flag,
        "problem": message,
        "age": maybe(number),
        "status": maybe(
            keyed(
                {},
                {
                    "read_at": maybe(message),
                    "watcher": maybe(
                        keyed(
                            {},
                            {
                                "version": maybe(message),
                                "failing_since": maybe(message),
                                "problem": maybe(message),
                                "drained": maybe(flag),
                                "left_for_a_run": maybe(list_of(message)),
                            },
                        )
                    ),
                },
            )
        ),
    }
)
_LOOK = keyed(
    {
        "python": message,
        "user": message,
        "now": number,
        "journal": _journal,
        "journal_problem": message,
        "folder_problem": message,
        "records": list_of(_RECORD),
        "units": _by_name(message),
        "paths": _by_name(message),
        "commands": _by_name(flag),
        "watcher": _WATCHER,
    }
)
_HEARD = keyed(
    {
        "status": maybe(whole),
        "headers": _by_name(message),
        "body": text,
        "problem": message,
        "at": number,
        "seconds": number,
    }
)
_FAILED_READING = keyed({"failed": flag, "msg": message})


def _reading(value: object) -> object:
    failed = isinstance(value, dict) and value.get("failed")
    return _FAILED_READING(value) if failed else _answers.EXCHANGE(value)


_ASK = keyed({"reading": _reading, "reading_seconds": number, "heard": _by_name(_HEARD)})
HOST_CHECK = keyed({"changed": flag}, {"look": _LOOK, "ask": _ASK})
