# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order to a host of the role approve: mark, send and wait."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping, Sequence

Options = dict[str, t.Any]
# The variable in which each host of the batch keeps the journal with its marks.
MARKED = "approve_mark"


def marks_name_only(host: str, marks: Sequence[Mapping[str, t.Any]]) -> bool:
    return {str(name) for mark in marks for name in mark["hosts"]} == {host}


@dataclasses.dataclass(frozen=True)
class ApproveOrder:
    host: str
    # Approved once all hosts that they name are drained; `undrained_ids` without a drain.
    ids: list[str]
    undrained_ids: list[str]
    wait_ids: list[str]
    # The hosts that may be ready.
    drained: list[str]
    marks: list[dict[str, t.Any]]
    run_id: str
    journal: str
    uncovered: str
    wait_timeout: t.Any
    # The fence of a run; None outside of one.
    fence: dict[str, t.Any] | None
    # The user's settings of the metadata service.
    service: Options

    @property
    def is_alone(self) -> bool:
        """Return True if a run's events name only this host: the command that sends then writes the mark as well."""
        return bool(self.fence) and marks_name_only(self.host, self.marks)

    def mark_options(self) -> Options:
        """Build the options of drain_journal.

        The mark is written before anything is sent, so that the next run finds what may start at any moment.
        """
        options = {
            "path": self.journal,
            "state": "mark" if self.marks and (self.ids or self.fence) else "read",
            "marks": self.marks,
            "run_id": self.run_id,
            **self.service,
        }
        if self.fence:
            first = {str(mark["hosts"][0]) for mark in self.marks}
            # The sender reads the events right before it sends anyway.
            asked: Options = {"events": []} if first == {self.host} else {}
            options["fence"] = {**self.fence, "drained": bool(self.ids), **asked}
        return options

    def parts(self) -> list[Options]:
        """Build the options of scheduled_event_approve for drained events, and for events that need no drain."""
        both = ((self.ids, True), (self.undrained_ids, False))
        return [self._part(ids, drained) for ids, drained in both if ids]

    def _part(self, ids: list[str], drained: bool) -> Options:
        options = {
            "event_ids": ids,
            "drained": self.drained,
            "uncovered": self.uncovered,
            # Not used for sending, but an invalid value must fail before anything is sent.
            "wait_timeout": self.wait_timeout,
            "journal": self.journal,
            "run_id": self.run_id,
            "reading": bool(self.fence),
            **self.service,
        }
        # Events that need no drain do not depend on journals.
        if drained and not self.is_alone:
            options["journals"] = MARKED
        if self.fence:
            options["marks"] = [mark for mark in self.marks if mark["event"] in ids]
            options["fence"] = {**self.fence, "drained": drained, "events": ids}
            if not self.is_alone:
                options["marks_in"] = MARKED
        return options

    def unsent(self, sent: Sequence[Mapping[str, t.Any]]) -> list[str]:
        """Return the events of a run's order that no host of the run has approved and that have not begun."""
        if not self.fence:
            return []
        begun = {
            event for one in sent for name in ("leaders", "already_started", "gone") for event in one.get(name) or ()
        }
        return [mark["event"] for mark in self.marks if mark["event"] not in begun]

    def wait_options(self, unsent: Sequence[str], vm_name: str | None) -> Options:
        """Build the options of scheduled_event_wait. A run tries unsent events again in another round."""
        options = {
            "event_ids": [event for event in self.wait_ids if event not in unsent],
            "wait_timeout": self.wait_timeout,
            **self.service,
        }
        if vm_name:
            options["vm_name"] = vm_name
        if self.fence:
            options.update(journal=self.journal, run_id=self.run_id)
        return options


TaskResult = Mapping[str, t.Any]


def approval_outcome(
    sent: Sequence[TaskResult], waited: TaskResult | None, unsent: Sequence[str] = ()
) -> dict[str, t.Any]:
    """Combine the results of the approvals (`sent`) and of the wait (None if there was none).

    `unsent` are the events that were neither approved nor waited for.
    """
    answers = [*sent, *([] if waited is None else [waited])]
    outcomes = dict((waited or {}).get("outcomes") or {})
    times: dict[str, dict[str, t.Any]] = {}
    for answer in answers:
        for event_id, known in (answer.get("times") or {}).items():
            times.setdefault(event_id, {}).update(known)
    return {
        "approved": [event_id for answer in answers for event_id in answer.get("approved") or ()],
        "refused": [refusal for answer in answers for refusal in answer.get("refused") or ()],
        "leaders": {event: host for answer in answers for event, host in (answer.get("leaders") or {}).items()},
        "times": times,
        "effects": dict((waited or {}).get("effects") or {}),
        "outcomes": outcomes,
        # A wait without outcomes has not seen the events end.
        "over": not unsent and (waited is None or (bool(outcomes) and all(s == "gone" for s in outcomes.values()))),
        "unsent": list(unsent),
        "refused_by_host": next((answer["refused_by_host"] for answer in sent if answer.get("refused_by_host")), None),
        "error": " ".join(problem for answer in answers for problem in _problems(answer)),
    }


def _problems(answer: TaskResult) -> list[str]:
    """Return the problems of a result. Without an answer a task has only a message."""
    problems = answer.get("problems")
    return [str(answer.get("msg") or "no answer")] if problems is None else [str(problem) for problem in problems]
