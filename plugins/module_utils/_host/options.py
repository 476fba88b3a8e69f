# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options that the module and the action of a host command share.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .._azure.http import DEFAULT_ENDPOINT
from .._azure.imds import API_VERSIONS, AUTO
from .journal import DEFAULT_PATH, STATUSES
from .ownership import AT_MOST

# The controller half tells the host half what it needs of the plan, and no more, in the plan's place.
ORDER = "order"


STATES_TO_WRITE = [
    "read",
    "begin",
    "step",
    "drained",
    "mark",
    "unmark",
    "restore",
    "close",
    "take_over",
    "forget",
]


def fence_options():
    """What a run knew when it decided; the host compares."""
    return dict(
        type="dict",
        options=dict(
            boot_id=dict(type="str"),
            seconds=dict(type="float"),
            at_most=dict(type="float", default=AT_MOST),
            owner=dict(type="str"),
            events=dict(type="list", elements="str", default=[]),
            scheduled=dict(type="bool", default=False),
            drained=dict(type="bool", default=False),
            may_start=dict(type="list", elements="str"),
            ask=dict(type="dict"),
        ),
    )


def service_to_ask():
    """Where the host asks whether the events of a fence are still there."""
    return dict(
        endpoint=dict(type="str", default=DEFAULT_ENDPOINT),
        api_version=dict(type="str", default=API_VERSIONS[-1], choices=list(API_VERSIONS) + [AUTO]),
    )


def mark_options():
    return dict(
        type="list",
        elements="dict",
        default=[],
        options=dict(
            event=dict(type="str", required=True),
            hosts=dict(type="list", elements="str", required=True),
            at=dict(type="float", required=True),
            takes_down=dict(type="bool", default=True),
            vanishing=dict(type="bool", default=False),
        ),
    )


def journal_options():
    step = dict(
        number=dict(type="int", required=True),
        kind=dict(type="str"),
        arguments=dict(type="dict"),
        status=dict(type="str", required=True, choices=list(STATUSES)),
        before=dict(type="dict"),
        error=dict(type="str"),
    )
    return dict(
        # Expanded on the host, as it is a path there.
        path=dict(type="str", default=DEFAULT_PATH),
        state=dict(type="str", default="read", choices=STATES_TO_WRITE),
        events=dict(type="list", elements="dict", default=[]),
        run_id=dict(type="str", default=""),
        steps=dict(type="list", elements="dict", default=[], options=step),
        marks=mark_options(),
        fence=fence_options(),
        **service_to_ask(),
    )


def step_options():
    return dict(
        plan=dict(type="dict", required=True),
        position=dict(type="int", required=True),
        perform=dict(type="str", choices=["step", "claim", "record", "act", "finish", "unhealthy"], default="step"),
        status=dict(type="str", choices=list(STATUSES), default="started"),
        before=dict(type="dict"),
        error=dict(type="str"),
        records=dict(type="str"),
    )
