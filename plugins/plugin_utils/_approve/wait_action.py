# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions share that wait for events."""

from __future__ import annotations

import contextlib
import time
import typing as t

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.utils.display import Display
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.judge import shown_status
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.notice_board import NoticeBoard
from ansible_collections.maintenance.azure.plugins.plugin_utils._approve.wait import (
    SILENCES_OF_A_HANGING_HOST,
    SILENCES_ON_WINDOWS,
    Complaints,
    Wait,
    first_reading,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.connection import ending_with_the_run
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.service import (
    HostService,
    ServiceAction,
    Unanswered,
    Unreachable,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.windows import is_windows


class WaitAction(ServiceAction):
    """Base of the actions that can wait for events, whoever approved them."""

    def checked_wait(self, argument_spec: dict[str, t.Any]) -> dict[str, t.Any]:
        options = self.checked_options(argument_spec)
        self.check_seconds(options, "wait_timeout")
        self.check_ids(options)
        return options

    def wait(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        """The result of scheduled_event_wait; what went wrong is in `problems`."""
        # With each reading the host is kept for this run, which must not go on after it was killed.
        with ending_with_the_run() if options["run_id"] else contextlib.nullcontext():
            return self._followed(options, task_vars)

    def _followed(self, options: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        service = HostService(self, options, task_vars)
        # In a run nobody else of the wave waits as long for a host that hangs.
        in_a_wave = bool(options["run_id"]) and len(task_vars.get("ansible_play_batch") or ()) > 1
        silences = SILENCES_OF_A_HANGING_HOST if in_a_wave else None
        if silences and is_windows(self):
            silences = SILENCES_ON_WINDOWS
        complaints = Complaints(str(self._task.delegate_to or task_vars["inventory_hostname"]), Display().display)
        started = time.monotonic()
        try:
            # The VM may be down right now: that is what is waited for.
            reading = (
                service.read()
                if self._task.check_mode
                else first_reading(service, options["wait_timeout"], complaints, silences)
            )
        except Unreachable as error:
            raise AnsibleConnectionFailure(str(error)) from None
        except Unanswered as error:
            raise AnsibleActionFail(str(error)) from None
        wait = Wait(
            service=service,
            reading=reading,
            complaints=complaints,
            goal=options["until"],
            event_ids=options["event_ids"],
            wait_timeout=options["wait_timeout"] - (time.monotonic() - started),
            read_timeout=options["timeout"],
            tell=Display().display,
            is_news=NoticeBoard(constants.DEFAULT_LOCAL_TMP).is_news,
            silences=silences,
        )
        failure = "" if self._task.check_mode else wait.until_reached()
        events = wait.reading.status["events"]
        return {
            "changed": False,
            "endpoint": wait.reading.status["endpoint"],
            "outcomes": {event_id: shown_status(event_id, events) for event_id in options["event_ids"]},
            "times": wait.times,
            "effects": wait.effects,
            "read_at": wait.reading.status["read_at"],
            "waited": int(time.monotonic() - started),
            "problems": [failure] if failure else [],
        }
