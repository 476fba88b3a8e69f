# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role approve has come to on one host, from what its tasks returned. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

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
