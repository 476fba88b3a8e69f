# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Prometheus is told, in the format of node_exporter's textfile collector. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

_ABOUT = (
    ("azure_maintenance_events", "gauge", "Scheduled events that affect this host, by type and status."),
    ("azure_maintenance_next_event_seconds", "gauge", "Seconds until the next of them may start."),
    ("azure_maintenance_last_reading_timestamp_seconds", "gauge", "When the metadata service was last read well."),
    ("azure_maintenance_reading_failures_total", "counter", "Readings that failed since the watcher was started."),
    ("azure_maintenance_drained", "gauge", "Whether this host is drained."),
    ("azure_maintenance_approvals_total", "counter", "Approvals that this host has sent by itself."),
)


def metrics_text(events, read_at, failures, is_drained, approvals):
    """`events` are those of a status. What is not known is left out."""
    mine = [event for event in events or () if event["affects_this_host"] is not False]
    counted = {}
    for event in mine:
        labels = '{type="%s",status="%s"}' % (_escaped(event["type"]), _escaped(event["status"]))
        counted[labels] = counted.get(labels, 0) + 1
    due = [event["seconds_left"] for event in mine if event["seconds_left"] is not None]
    values = {
        "azure_maintenance_events": sorted(counted.items()),
        "azure_maintenance_next_event_seconds": [("", min(due))] if due else [],
        "azure_maintenance_last_reading_timestamp_seconds": [] if read_at is None else [("", round(read_at, 3))],
        "azure_maintenance_reading_failures_total": [("", failures)],
        "azure_maintenance_drained": [("", int(is_drained))],
        "azure_maintenance_approvals_total": [("", approvals)],
    }
    lines = []
    for name, kind, about in _ABOUT:
        lines += ["# HELP %s %s" % (name, about), "# TYPE %s %s" % (name, kind)]
        lines += ["%s%s %s" % (name, labels, value) for labels, value in values[name]]
    return "\n".join(lines) + "\n"


def _escaped(text):
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
