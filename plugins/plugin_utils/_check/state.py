# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What earlier runs and watchers left behind: the area `state`. Pure."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import is_watcher
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import in_words, some_of

# After so long without a new status, a watcher is silent: as the event source has it.
SILENT_AFTER = 90
# As the step kubernetes writes it.
ANNOTATION = "maintenance.azure/drained"
FINISH_IT = "run maintenance.azure.drain_then_approve, which returns it to service when its event is over"
FINISH = FINISH_IT[0].upper() + FINISH_IT[1:]


def about_journal(journal: Mapping[str, t.Any] | None, problem: str, watcher: Mapping[str, t.Any]) -> Finding:
    """`watcher`: what one left on the host, as for about_watcher."""
    point = "journal"
    if problem:
        return bad("state", point, problem, "Until then nobody drains this host or returns it to service")
    if journal is None:
        return good("state", point, "none: the host is in service")
    since = journal.get("drained_at") or journal.get("started_at") or "an unknown time"
    ids = [str(event.get("id")) for event in journal.get("events") or ()]
    owner = str(journal.get("run_id") or "without a name")
    by = f"the {owner}" if is_watcher(owner) else f"run {owner}"
    seen = f"{journal['state']} since {since} by {by} for {some_of(ids) or '?'}"
    if is_watcher(owner):
        if watcher.get("status") is None or about_watcher(watcher).verdict == "bad":
            do = f"Mend what the point watcher tells. Or {FINISH_IT}"
            return bad("state", point, f"{seen}, which is not at work as it should be", do)
        return doubtful("state", point, seen, "It returns the host to service itself, when the event is over")
    left = journal.get("worked_on_for") or 0
    if left:
        return doubtful("state", point, f"{seen}, which is at work there", "Check again when that run has ended")
    return bad("state", point, f"{seen}, which is not at work there any more", FINISH)


def about_records(
    machine: str, records: Sequence[Mapping[str, t.Any]], drained: Iterable[str], known: Iterable[str]
) -> Finding:
    """`drained`: hosts with a journal. `known`: hosts of the inventory."""
    point = f"records on {machine}"
    drained, known = set(drained), set(known)
    unreadable = [str(record["problem"]) for record in records if record["problem"]]
    if unreadable:
        return bad("state", point, some_of(unreadable, 2), "Put right by hand what they tell, and remove them")
    if not records:
        return good("state", point, "none")
    told = [
        f"{record['host']} ({', '.join(record['types'])}, run {record['run_id']}, {record['at']})" for record in records
    ]
    strangers = [record for record in records if record["host"] not in known]
    if strangers:
        files = some_of([str(record["file"]) for record in strangers], 3)
        do = f"Put right on {machine} by hand what was drained for them, and remove {files}"
        return bad("state", point, f"for hosts that the inventory does not have: {some_of(told)}", do)
    forgotten = [record for record in records if record["host"] not in drained]
    if forgotten:
        hosts = in_words(sorted({str(record["host"]) for record in forgotten}))
        do = f"Return {hosts} to service: run maintenance.azure.drain_then_approve, or the role restore on them"
        return bad("state", point, f"for hosts without a journal: {some_of(told)}", do)
    return doubtful("state", point, f"for hosts that are drained: {some_of(told)}", "They go with the journals")


def about_node(host: str, answer: Mapping[str, t.Any], has_journal: bool) -> Finding:
    """The answer of a cluster about a node that is drained for this host. Its annotation is the record of that."""
    name = str(answer["__check_node"]["node"])
    point = f"annotation of node {name}"
    resources = answer.get("resources")
    if not isinstance(resources, (list, tuple)) or len(resources) != 1:
        why = str(answer.get("msg") or f"there are {len(resources or ())} nodes of that name")
        return bad("state", point, why, "Correct node, kubeconfig and context of the step, or what may be asked there")
    annotations = (resources[0].get("metadata") or {}).get("annotations") or {}
    if ANNOTATION not in annotations:
        return good("state", point, "none: it is not drained by us")
    try:
        record = json.loads(annotations[ANNOTATION])
        whose, run = str(record["host"]), str(record.get("run_id"))
    except (ValueError, TypeError, KeyError, AttributeError):
        return bad("state", point, f"{ANNOTATION} can't be understood", "Put right the node by hand, and remove it")
    seen = f"drained for {whose} by run {run}"
    if whose != host:
        return bad("state", point, seen, f"Return {whose} to service; if there is no such host, remove {ANNOTATION}")
    if has_journal:
        return doubtful("state", point, seen, "It goes with the journal")
    do = f"Return {host} to service: run maintenance.azure.drain_then_approve, or the role restore on it"
    return bad("state", point, f"{seen}, and the host has no journal", do)


def about_watcher(seen: Mapping[str, t.Any]) -> Finding:
    point = "watcher"
    status = seen.get("status")
    if seen.get("problem"):
        return bad("state", point, str(seen["problem"]), "Look at the unit azure-maintenance-watch on the host")
    if status is None:
        if seen.get("installed"):
            do = "Start it: systemctl status azure-maintenance-watch on the host tells why it does not run"
            return bad("state", point, "its program is there and no status of it", do)
        return good("state", point, "none here")
    watcher = status.get("watcher")
    watcher = watcher if isinstance(watcher, Mapping) else {}
    age = float(seen.get("age") or 0)
    if age > SILENT_AFTER:
        do = "Start it again: systemctl status azure-maintenance-watch on the host tells why it does not run"
        return bad("state", point, f"silent for {age:.0f} s, since a reading of {status.get('read_at')}", do)
    if watcher.get("failing_since"):
        seen_text = f"it can't read the service since {watcher['failing_since']}: {watcher.get('problem') or '?'}"
        return bad("state", point, seen_text, "docs/troubleshooting.md tells what this sentence means")
    left = watcher.get("left_for_a_run")
    if isinstance(left, (list, tuple)) and left:
        return doubtful("state", point, f"it leaves to a run: {some_of([str(one) for one in left], 2)}", FINISH)
    return good(
        "state", point, f"at work, version {watcher.get('version') or '?'}, last reading {status.get('read_at')}"
    )
