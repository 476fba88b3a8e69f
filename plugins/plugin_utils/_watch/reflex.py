# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reflexes of a host are told: their rules, and which of the user's steps the host does by itself."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._azure.rules import BadRules, read_rules
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import (
    ACTIONS,
    FLAGS,
    TELL,
    digest_of_steps,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import (
    DONE_BY_TASKS,
    Spec,
    Step,
    place_of,
    webhook_of_the_controller,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import BadSteps, checked_steps
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.event_uses import EventUses
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.filled_in import (
    LOOKED,
    MARKS,
    check_that_nothing_looks,
    check_that_the_host_can,
    worded,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.settings import BadWatch

VARIABLE = "watch_reflex"
EXAMPLE = "{type: Preempt, action: drain}"


def reacts(rules: t.Any) -> bool:
    """Whether some rule does more than tell. Raises BadWatch."""
    try:
        return any(rule.action != TELL for rule in read_rules(rules, VARIABLE, ACTIONS, EXAMPLE, FLAGS, TELL))
    except BadRules as error:
        raise BadWatch(str(error)) from None


def reflex_settings_of(
    settings: Mapping[str, t.Any],
    rules: Sequence[Mapping[str, t.Any]],
    variables: Mapping[str, t.Any],
    resolve: Callable[[Mapping[str, t.Any], Mapping[str, t.Any]], t.Any],
    own_kinds: Mapping[str, Spec | None],
    here: str,
    more: Mapping[str, t.Any],
) -> dict[str, t.Any]:
    """The content of the file that only root reads. Of the user's `variables`, `resolve` makes steps for an event;
    `here` is the host's inventory name.
    """

    def steps_for(event: Mapping[str, t.Any]) -> list[Step]:
        return checked_steps(resolve(variables, event), own_kinds)

    def is_of_others(item: t.Any) -> bool:
        try:
            return _why_others_do_it(checked_steps([worded(item)], own_kinds)[0], own_kinds, here) is not None
        except BadSteps:
            return False

    try:
        if looking := EventUses(variables).replaced(lambda _text: LOOKED):
            check_that_nothing_looks(resolve(looking, MARKS), is_of_others)
        items = resolve(variables, MARKS)
        if isinstance(items, list):
            # A mark is no name of anything, and what others do is not done with it.
            items = [worded(item) if is_of_others(item) else item for item in items]
        checked = checked_steps(items, own_kinds)
        steps = [_step(step, number, own_kinds, here) for number, step in enumerate(checked, start=1)]
        check_that_the_host_can(checked, steps_for, [one["number"] for one in steps if not one.get("left")])
    except BadSteps as error:
        raise BadWatch(str(error)) from None
    if more["latest"] < 0:
        raise BadWatch(f"watch_reflex_latest must be a number of seconds, not {more['latest']}")
    kept = {key: settings[key] for key in settings if key != "notify"}
    return {**kept, **more, "reflex": list(rules), "steps": steps, "steps_digest": digest_of_steps(steps)}


def _step(step: Step, number: int, own_kinds: Mapping[str, Spec | None], here: str) -> dict[str, t.Any]:
    left = _why_others_do_it(step, own_kinds, here)
    if left:
        return {"number": number, "kind": step.kind, "left": f"step {number} ({step.kind}) {left}"}
    return {"number": number, "kind": step.kind, "arguments": step.arguments}


def _why_others_do_it(step: Step, own_kinds: Mapping[str, Spec | None], here: str) -> str | None:
    if step.kind in own_kinds:
        return "is a kind of your own, which needs a controller"
    if step.kind in DONE_BY_TASKS:
        return "needs a controller"
    if elsewhere := place_of(step.kind, step.arguments, here):
        return f"is done on {elsewhere}"
    if webhook_of_the_controller(step.kind, step.arguments):
        return "tells a webhook from the controller"
    return None
