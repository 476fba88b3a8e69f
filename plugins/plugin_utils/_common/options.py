# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the actions."""

from __future__ import annotations

import typing as t

from ...module_utils._azure import documents, http, imds
from ...module_utils._host.journal import DEFAULT_PATH
from ...module_utils._host.journal import STATUSES as STATUSES_OF_STEPS
from ...module_utils._host.ownership import AT_MOST

Options = dict[str, t.Any]
DEFAULT_TIMEOUT = 130


def service_options() -> Options:
    """What every module that talks to the service takes."""
    return dict(
        endpoint=dict(type="str", default=http.DEFAULT_ENDPOINT),
        api_version=dict(type="str", default="2020-07-01", choices=[*imds.API_VERSIONS, imds.AUTO]),
        timeout=dict(type="int", default=DEFAULT_TIMEOUT),
        vm_name=dict(type="str"),
    )


def info_options() -> Options:
    return dict(
        service_options(),
        affecting=dict(type="str", default="this_host", choices=["this_host", "any"]),
        event_types=dict(type="list", elements="str", choices=list(documents.EVENT_TYPES)),
        event_statuses=dict(type="list", elements="str", choices=list(documents.STATUSES)),
        event_sources=dict(type="list", elements="str", choices=list(documents.SOURCES)),
        within=dict(type="int"),
        query=dict(type="str"),
    )


def approve_options() -> Options:
    return dict(
        service_options(),
        event_ids=dict(type="list", elements="str"),
        drained=dict(type="list", elements="str"),
        uncovered=dict(type="str", default="refuse", choices=["refuse", "allow"]),
        leader=dict(type="str", default="elect", choices=["elect", "self"]),
        wait_for=dict(type="str", default="accepted", choices=["nothing", "accepted", "started", "finished"]),
        wait_timeout=dict(type="int", default=900),
    )


def wait_options() -> Options:
    return dict(
        service_options(),
        event_ids=dict(type="list", elements="str", required=True),
        until=dict(type="str", default="finished", choices=["started", "finished"]),
        wait_timeout=dict(type="int", default=1800),
    )


def run_options() -> Options:
    """The journal that the host has for a run, which each reading renews."""
    return dict(journal=dict(type="str"), run_id=dict(type="str", default=""))


def approval_by_role_options() -> Options:
    """What the role approve hands to an approval beside the options of scheduled_event_approve."""
    return dict(
        run_options(),
        journals=dict(type="str"),
        marks=mark_options(),
        marks_in=dict(type="str"),
        fence=fence_options(),
        reading=dict(type="bool", default=False),
    )


def fence_options() -> Options:
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


def service_to_ask() -> Options:
    """Where the host asks whether the events of a fence are still there."""
    service = service_options()
    return {name: service[name] for name in ("endpoint", "api_version")}


def mark_options() -> Options:
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


def journal_options() -> Options:
    step = dict(
        number=dict(type="int", required=True),
        status=dict(type="str", required=True, choices=list(STATUSES_OF_STEPS)),
    )
    return dict(
        # Expanded on the host, as it is a path there.
        path=dict(type="str", default=DEFAULT_PATH),
        state=dict(type="str", default="read", choices=["read", "step"]),
        steps=dict(type="list", elements="dict", default=[], options=step),
    )


def lease_options() -> Options:
    return dict(
        do=dict(type="str", required=True, choices=["take", "renew", "release", "read"]),
        run_id=dict(type="str"),
        note=dict(type="str", default=""),
        path=dict(type="str", default="/var/lib/azure-maintenance/run.lock"),
        group=dict(type="str", default=""),
        seconds=dict(type="int", default=90),
    )


# The internal actions: what each takes beside `do`, by what that says.


def read_options() -> dict[str, Options]:
    hosts = dict(
        service_options(),
        journal=dict(type="str", default=DEFAULT_PATH),
        this_host=dict(type="dict"),
        reads_in=dict(type="str", default=""),
        of=dict(type="str"),
    )
    return {"hosts": hosts, "records": dict(folder=dict(type="path", required=True))}


def drain_options() -> dict[str, Options]:
    both = dict(
        steps_path=dict(type="list", elements="path", default=[]),
        journal=dict(type="path", default=DEFAULT_PATH),
        timeout=dict(type="int", default=600),
        run_id=dict(type="str", default=""),
        fence=fence_options(),
        **service_to_ask(),
    )
    return {
        "drain": dict(both, events=dict(type="list", elements="dict", default=[]), reserve=dict(type="int", default=5)),
        "restore": dict(both, health=dict(type="list", elements="raw", default=[]), seen=dict(type="dict")),
        "step": dict(
            plan=dict(type="dict", required=True),
            position=dict(type="int", required=True),
            perform=dict(type="str", choices=["step", "claim", "record", "act", "finish", "unhealthy"], default="step"),
            status=dict(type="str", choices=list(STATUSES_OF_STEPS), default="started"),
            before=dict(type="dict"),
            error=dict(type="str"),
            records=dict(type="str"),
        ),
    }


def approval_options() -> dict[str, Options]:
    """Of `_approve`."""
    return {do: service_options() for do in ("mark", "send", "wait")}


def check_options() -> dict[str, Options]:
    return {
        "host": dict(
            service_options(),
            ask_service=dict(type="bool", default=False),
            ask_facts=dict(type="bool", default=False),
            journal=dict(type="str", default=DEFAULT_PATH),
            records=dict(type="str", default="/var/lib/azure-maintenance/records"),
            steps_path=dict(type="list", elements="path", default=[]),
            watch_program=dict(type="str", default="/usr/local/lib/azure-maintenance/watch"),
            watch_status_file=dict(type="str", default="/run/azure-maintenance/status.json"),
        ),
        "machine": dict(entries=dict(type="list", elements="dict", required=True), own_records=dict(type="str")),
        "lock_hosts": dict(lock_hosts=dict(type="list", elements="str")),
        "fleet": dict(
            hosts=dict(type="list", elements="str", required=True),
            asked_service=dict(type="bool", default=False),
            asked_facts=dict(type="bool", default=False),
            machines=dict(type="list", elements="dict", default=[]),
            leases=dict(type="list", elements="dict", default=[]),
            policy=dict(type="raw"),
            max_at_once=dict(type="raw"),
            min_in_service=dict(type="raw"),
            report=dict(type="path"),
        ),
    }


def lock_options() -> dict[str, Options]:
    """Of `_lease`."""
    lease = lease_options()
    return {
        "ask": dict(
            asked=dict(type="str", choices=["take", "renew", "release", "read"]),
            group=dict(type="str", default=""),
            with_notes=dict(type="bool", default=False),
            **{name: lease[name] for name in ("path", "seconds", "note")},
        ),
        "lock_hosts": dict(
            hosts=dict(type="list", elements="str", required=True),
            lock_hosts=dict(type="list", elements="str"),
        ),
        "verdict": dict(
            asked=dict(type="str", required=True, choices=["take", "renew", "release", "read"]),
            group=dict(type="str", default=""),
            lock_hosts=dict(type="list", elements="str", required=True),
            results=dict(type="list", elements="dict", required=True),
            refused_before=dict(type="dict", default={}),
        ),
    }


def watch_options() -> dict[str, Options]:
    settings = dict(
        name=dict(type="str", required=True),
        endpoint=dict(type="str", default=http.DEFAULT_ENDPOINT),
        api_version=dict(type="str", default="2020-07-01", choices=[*imds.API_VERSIONS, imds.AUTO]),
        vm_name=dict(type="str"),
        interval=dict(type="float", default=1),
        heartbeat=dict(type="float", default=30),
        status_file=dict(type="str", default="/run/azure-maintenance/status.json"),
        journal=dict(type="str", default=DEFAULT_PATH),
        notify=dict(type="list", elements="dict", default=[]),
        metrics=dict(type="bool", default=False),
        reflex=dict(type="list", elements="dict", default=[]),
        reflex_latest=dict(type="float", default=60),
        steps_path=dict(type="list", elements="str", default=[]),
        timeout=dict(type="int", default=600),
        audit_file=dict(type="str"),
        manage_service=dict(type="bool", default=True),
        reflex_config=dict(type="str"),
    )
    return {"settings": settings, "program": dict(dest=dict(type="path", required=True))}


def report_options() -> Options:
    return dict(
        hosts=dict(type="list", elements="str", required=True),
        folder=dict(type="path", default="."),
        name=dict(type="str", default="maintenance-report"),
        title=dict(type="str", default="Azure maintenance"),
        run=dict(type="dict"),
        run_file=dict(type="path"),
        record=dict(type="bool", default=False),
    )
