# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of the actions."""

from __future__ import annotations

import typing as t

from ...module_utils._azure.http import DEFAULT_ENDPOINT
from ...module_utils._azure.imds import API_VERSIONS, AUTO
from ...module_utils._host.journal import DEFAULT_PATH
from ...module_utils._host.options import fence_options, mark_options

DEFAULT_TIMEOUT = 130


def service_options() -> dict[str, t.Any]:
    """What every module that talks to the service takes."""
    return dict(
        endpoint=dict(type="str", default=DEFAULT_ENDPOINT),
        api_version=dict(type="str", default="2020-07-01", choices=[*API_VERSIONS, AUTO]),
        timeout=dict(type="int", default=DEFAULT_TIMEOUT),
        vm_name=dict(type="str"),
    )


def info_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        affecting=dict(type="str", default="this_host", choices=["this_host", "any"]),
        event_types=dict(type="list", elements="str", choices=["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]),
        event_statuses=dict(type="list", elements="str", choices=["Scheduled", "Started"]),
        event_sources=dict(type="list", elements="str", choices=["Platform", "User"]),
        within=dict(type="int"),
        query=dict(type="str"),
    )


def approve_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        event_ids=dict(type="list", elements="str"),
        drained=dict(type="list", elements="str"),
        journals=dict(type="str"),
        uncovered=dict(type="str", default="refuse", choices=["refuse", "allow"]),
        leader=dict(type="str", default="elect", choices=["elect", "self"]),
        wait_for=dict(type="str", default="accepted", choices=["nothing", "accepted", "started", "finished"]),
        wait_timeout=dict(type="int", default=900),
        marks=mark_options(),
        marks_in=dict(type="str"),
        fence=fence_options(),
        reading=dict(type="bool", default=False),
        **_of_a_run(),
    )


def wait_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        event_ids=dict(type="list", elements="str", required=True),
        until=dict(type="str", default="finished", choices=["started", "finished"]),
        wait_timeout=dict(type="int", default=1800),
        **_of_a_run(),
    )


def _of_a_run() -> dict[str, t.Any]:
    """The journal that the host has for this run, where it says with each reading that the run is still there."""
    return dict(journal=dict(type="str"), run_id=dict(type="str", default=""))


def report_options() -> dict[str, t.Any]:
    return dict(
        hosts=dict(type="list", elements="str", required=True),
        folder=dict(type="path", default="."),
        name=dict(type="str", default="maintenance-report"),
        title=dict(type="str", default="Azure maintenance"),
        run=dict(type="dict"),
        run_file=dict(type="path"),
        record=dict(type="bool", default=False),
    )


def state_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        journal=dict(type="str", default=DEFAULT_PATH),
        this_host=dict(type="dict"),
        reads_in=dict(type="str", default=""),
        of=dict(type="str"),
    )


def lease_options() -> dict[str, t.Any]:
    return dict(
        do=dict(type="str", required=True, choices=["take", "renew", "release", "read", "nothing"]),
        run_id=dict(type="str"),
        note=dict(type="str", default=""),
        path=dict(type="str", default="/var/lib/azure-maintenance/run.lock"),
        group=dict(type="str", default=""),
        seconds=dict(type="int", default=90),
        notes=dict(type="list", elements="dict", default=[]),
        forget=dict(type="list", elements="str", default=[]),
    )


def lease_lock_hosts_options() -> dict[str, t.Any]:
    return dict(
        hosts=dict(type="list", elements="str", required=True),
        lock_hosts=dict(type="list", elements="str"),
    )


def lease_verdict_options() -> dict[str, t.Any]:
    return dict(
        do=dict(type="str", required=True, choices=["take", "renew", "release", "read"]),
        group=dict(type="str", default=""),
        lock_hosts=dict(type="list", elements="str", required=True),
        results=dict(type="list", elements="dict", required=True),
        refused_before=dict(type="dict", default={}),
    )


def check_host_options() -> dict[str, t.Any]:
    return dict(
        service_options(),
        ask_service=dict(type="bool", default=False),
        ask_facts=dict(type="bool", default=False),
        journal=dict(type="str", default=DEFAULT_PATH),
        records=dict(type="str", default="/var/lib/azure-maintenance/records"),
        steps_path=dict(type="list", elements="path", default=[]),
        watch_program=dict(type="str", default="/usr/local/lib/azure-maintenance/watch"),
        watch_status_file=dict(type="str", default="/run/azure-maintenance/status.json"),
    )


def check_machine_options() -> dict[str, t.Any]:
    return dict(entries=dict(type="list", elements="dict", required=True), records=dict(type="str"))


def check_lock_hosts_options() -> dict[str, t.Any]:
    return dict(lock_hosts=dict(type="list", elements="str"))


def check_fleet_options() -> dict[str, t.Any]:
    return dict(
        hosts=dict(type="list", elements="str", required=True),
        asked_service=dict(type="bool", default=False),
        asked_facts=dict(type="bool", default=False),
        machines=dict(type="list", elements="dict", default=[]),
        leases=dict(type="list", elements="dict", default=[]),
        policy=dict(type="raw"),
        max_at_once=dict(type="raw"),
        min_in_service=dict(type="raw"),
        report=dict(type="path"),
    )


def watch_settings_options() -> dict[str, t.Any]:
    return dict(
        name=dict(type="str", required=True),
        endpoint=dict(type="str", default=DEFAULT_ENDPOINT),
        api_version=dict(type="str", default="2020-07-01", choices=[*API_VERSIONS, AUTO]),
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


def watch_program_options() -> dict[str, t.Any]:
    return dict(dest=dict(type="path", required=True))
