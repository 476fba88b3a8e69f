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
    # To be approved as soon as all that they name are drained, and without a drain.
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
    # What a run knew when it gave the order, or nothing.
    fence: dict[str, t.Any] | None
    # Where the service is asked, as the user has it.
    service: Options

    @property
    def is_alone(self) -> bool:
        """In a run, whether the events name no other host of the run: then it is marked by the command that sends."""
        return bool(self.fence) and marks_name_only(self.host, self.marks)

    def mark_options(self) -> Options:
        """The options of drain_journal: before anything is sent, the next run is told what may start at any moment."""
        options = {
            "path": self.journal,
            "state": "mark" if self.marks and (self.ids or self.fence) else "read",
            "marks": self.marks,
            "run_id": self.run_id,
            **self.service,
        }
        if self.fence:
            first = {str(mark["hosts"][0]) for mark in self.marks}
            # Who sends asks the service right before that anyway.
            asked: Options = {"events": []} if first == {self.host} else {}
            options["fence"] = {**self.fence, "drained": bool(self.ids), **asked}
        return options

    def parts(self) -> list[Options]:
        """The options of scheduled_event_approve: for what was drained, and for what needs no drain."""
        both = ((self.ids, True), (self.undrained_ids, False))
        return [self._part(ids, drained) for ids, drained in both if ids]

    def _part(self, ids: list[str], drained: bool) -> Options:
        options = {
            "event_ids": ids,
            "drained": self.drained,
            "uncovered": self.uncovered,
            # Not waited for here, but a value that can't be used must be noticed before anything is sent.
            "wait_timeout": self.wait_timeout,
            "journal": self.journal,
            "run_id": self.run_id,
            "reading": bool(self.fence),
            **self.service,
        }
        # Where nobody has to be drained, all of them are ready.
        if drained and not self.is_alone:
            options["journals"] = MARKED
        if self.fence:
            options["marks"] = [mark for mark in self.marks if mark["event"] in ids]
            options["fence"] = {**self.fence, "drained": drained, "events": ids}
            if not self.is_alone:
                options["marks_in"] = MARKED
        return options

    def unsent(self, sent: Sequence[Mapping[str, t.Any]]) -> list[str]:
        """In a run, what was to be approved, and neither was sent by anybody of this run nor has begun."""
        if not self.fence:
            return []
        begun = {
            event for one in sent for name in ("leaders", "already_started", "gone") for event in one.get(name) or ()
        }
        return [mark["event"] for mark in self.marks if mark["event"] not in begun]

    def wait_options(self, unsent: Sequence[str], vm_name: str | None) -> Options:
        """The options of scheduled_event_wait. In a run nobody waits for what was not sent: it gets another turn."""
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
    """`sent`: what the approvals returned. `waited`: what the wait returned, None where nothing was waited for.

    `unsent`: events that were to be approved and were not, which nobody has waited for.
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
        # A wait that can't say what has become of the events has not seen them end.
        "over": not unsent and (waited is None or (bool(outcomes) and all(s == "gone" for s in outcomes.values()))),
        "unsent": list(unsent),
        "refused_by_host": next((answer["refused_by_host"] for answer in sent if answer.get("refused_by_host")), None),
        "error": " ".join(problem for answer in answers for problem in _problems(answer)),
    }


def _problems(answer: TaskResult) -> list[str]:
    """A task that got no answer has no list of problems, only a message."""
    problems = answer.get("problems")
    return [str(answer.get("msg") or "no answer")] if problems is None else [str(problem) for problem in problems]
