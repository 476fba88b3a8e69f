# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`maintenance_run` as it is handed to later jobs: all of it for a usual run, bounded for a very large one. Pure."""

from __future__ import annotations

import collections
import typing as t
from collections.abc import Mapping

# Some 160 bytes a host and 450 an event: AWX keeps this in its database and hands it to every later job of a workflow.
MOST_HOSTS = 2000
MOST_EVENTS = 1000
MOST_ERROR = 500
_WENT_WELL = ("restored", "passed", "vanished")


def run_artifact(summary: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The summary without its words, with `counts` by state, and with `left_out`: how much of each list is not in it.

    What went wrong comes first, so that it is what went well that is left out.
    """
    hosts: dict[str, dict[str, t.Any]] = {
        host: {**outcome, "error": str(outcome["error"])[:MOST_ERROR]} if "error" in outcome else outcome
        for host, outcome in summary["hosts"].items()
    }
    worst_first = sorted(hosts, key=lambda host: hosts[host]["state"] in _WENT_WELL)
    events: dict[str, dict[str, t.Any]] = summary["events"]
    unsettled_first = sorted(events, key=lambda event_id: events[event_id].get("outcome") == "over")
    left = {name: value[:MOST_HOSTS] if isinstance(value, list) else value for name, value in summary["left"].items()}
    return {
        **{key: value for key, value in summary.items() if key != "lines"},
        "counts": dict(collections.Counter(outcome["state"] for outcome in hosts.values())),
        "hosts": {host: hosts[host] for host in worst_first[:MOST_HOSTS]},
        "events": {event_id: events[event_id] for event_id in unsettled_first[:MOST_EVENTS]},
        "left": left,
        "left_out": {
            "hosts": max(0, len(hosts) - MOST_HOSTS),
            "events": max(0, len(events) - MOST_EVENTS),
            **{name: len(value) - len(left[name]) for name, value in summary["left"].items()},
        },
    }
