# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module drain_step does: one step of a drain or a restore, as the controller half orders it.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import time

from ansible_collections.maintenance.azure.plugins.module_utils._drain.host import StepError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import (
    JournalError,
    begun,
    boot_id,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.module_utils._drain.step_runner import StepRunner, Unhealthy


def carried_out(order, check_mode):
    """The result of the module for an order."""
    runner = StepRunner(order.get("journal"), order.get("run_id"), check_mode)
    if order["perform"] == "steps":
        return _several(order, runner)
    try:
        return _one(order, runner, order["timeout"])
    except (StepError, JournalError) as error:
        return _failure(error)


def _failure(error):
    failure = {"failed": True, "changed": False, "msg": str(error)}
    if isinstance(error, Unhealthy):
        failure["health"] = error.results
    return failure


def _several(order, runner):
    """Steps in a row. Returns {results}, one for each step that was come to; the last may be a failure.

    With `open`, the journal is opened first and comes back as well. If it knows of other steps than expected, none is
    done: what is left is for the controller to say.
    """
    result = {"changed": False, "results": []}
    if order.get("open"):
        try:
            result["journal"] = _opened(order, runner)
        except JournalError as error:
            return _failure(error)
        result["boot_id"] = boot_id()
        if result["journal"] is None or result["journal"]["steps"] != order["open"]["expected"]:
            return result
    ends = time.time() + order["timeout"]
    for step_order in order["orders"]:
        left = ends - time.time()
        if left <= 0:
            break
        # Each tells the seconds that it took by itself.
        runner.started = runner.clock()
        try:
            result["results"].append(_one(dict(step_order, direction=order["direction"]), runner, left))
        except (StepError, JournalError) as error:
            result["results"].append(_failure(error))
            break
    result["changed"] = any(one["changed"] for one in result["results"])
    return result


def _opened(order, runner):
    """Makes this run the owner of the journal. Where there is none, nothing was drained that could be restored."""
    if order["direction"] == "drain":
        events = order["open"]["events"]
        return runner.journal.change(lambda data: begun(data, events, runner.run_id, boot_id(), utc_now()))
    if runner.journal.read() is None:
        return None
    return runner.journal.change(lambda data: data and dict(data, state="restoring", run_id=runner.run_id))


def _one(order, runner, timeout):
    perform, step = order["perform"], order.get("step")
    finished, final = order.get("finished") or (), order.get("final")
    if perform == "claim":
        return runner.claim(order["direction"], step, timeout, order["record"])
    if perform == "act":
        return runner.act(order["direction"], step, timeout, order["record"])
    if perform == "finish":
        return runner.finish(finished, final, order.get("health") or (), timeout)
    if perform == "record":
        return runner.record_only(order["direction"], step, order["status"], finished, order.get("error"))
    return getattr(runner, order["direction"])(step, timeout, finished, final)
