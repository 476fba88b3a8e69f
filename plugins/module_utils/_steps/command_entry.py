# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that drains a host and returns it to service, step by step.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import sys
import time

from .._azure import documents
from .._host import audit as _audit
from .._host import files
from .._host import journal_command as _journal_command
from .._host import ownership as _ownership
from .._host import run_mark as _run_mark
from .._host.journal import JournalError, begun, utc_now
from .._host.ownership import OwnedJournal
from . import machine
from .runner import StepRunner, Unhealthy


def carried_out(order, check_mode, here=files.HERE):
    """The result of the module for an order."""
    _take_kinds(order.get("kinds") or ())
    runner = StepRunner(order.get("journal"), order.get("run_id"), check_mode, here=here)
    # A machine that is worked on from elsewhere keeps no such record.
    runner.audit = order.get("audit") if here.can_act else None
    _leave_mark(order, runner)
    try:
        if order["perform"] == "steps":
            return _several(order, runner)
        with _in_contact(order, runner):
            result = _one(order, runner, order["timeout"])
        if _says_who_works(order, runner):
            # What comes next is done by tasks, which say nothing themselves.
            OwnedJournal(runner.journal, runner.run_id).renew(order.get("seconds_at_work"))
        return result
    except (machine.StepError, JournalError) as error:
        return _failure(error)


def _take_kinds(sources):
    """Kinds that this order needs: a module is sent with what it imports, and nobody imports a kind by its name."""
    for name, source in sources:
        if name not in sys.modules:
            part = sys.modules[name] = type(sys)(name)
            exec(compile(source, name, "exec"), part.__dict__)  # noqa: S102


def _says_who_works(order, runner):
    return order.get("fenced") and runner.journal and not runner.check_mode


def _leave_mark(order, runner):
    """Where a watcher has reflexes, the run comes first for another while, see run_mark.py."""
    if order.get("mark") and not runner.check_mode and runner.here.can_act:
        _run_mark.leave(order["mark"], runner.run_id)


@contextlib.contextmanager
def _in_contact(order, runner):
    """In a run others are told that this host is worked on, for as long as the controller is there."""
    if not _says_who_works(order, runner) or order["perform"] == "record" or not runner.here.can_act:
        yield
        return
    journal = OwnedJournal(runner.journal, runner.run_id)
    with _ownership.Contact(journal, along=lambda: _leave_mark(order, runner)) as runner.contact:
        yield


def _failure(error):
    failure = _journal_command.failure_of(error)
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
        result["journal"] = _opened(order, runner)
        result["boot_id"] = runner.here.clock.boot_id()
        if result["journal"] is None or result["journal"]["steps"] != order["open"]["expected"]:
            return result
    with _in_contact(order, runner):
        result["results"] = _done_in_a_row(order, runner)
    result["changed"] = any(one["changed"] for one in result["results"])
    if order.get("look"):
        result["look"] = _look(order, runner)
    if order.get("seconds_at_work") and _says_who_works(order, runner):
        # What comes next is done by tasks, which say nothing themselves.
        OwnedJournal(runner.journal, runner.run_id).renew(order["seconds_at_work"])
    return result


def _look(order, runner):
    """A reading right after the drain or the return, if that is through: it saves one that is asked for by itself."""
    journal = OwnedJournal(runner.journal, runner.run_id)
    # After a return there is no journal any more.
    if (runner.journal.read() or {}).get("state") != ("drained" if order["direction"] == "drain" else None):
        return None
    look = _ownership.look(order["look"], runner.here.clock, **runner.here.service)
    if look is None:
        return None
    mark = order.get("mark")
    return dict(
        look,
        run_mark=_run_mark.left_by_a_run(mark, runner.run_id) if mark else None,
        journal=journal.with_who_is_at_work(journal.read()),
    )


def _done_in_a_row(order, runner):
    results = []
    ends = time.time() + order["timeout"]
    for step_order in order["orders"]:
        left = ends - time.time()
        if left <= 0:
            break
        # Each tells the seconds that it took by itself.
        runner.started = runner.clock()
        try:
            runner.check_contact()
            results.append(_one(dict({"direction": order["direction"]}, **step_order), runner, left))
        except (machine.StepError, JournalError) as error:
            results.append(_failure(error))
            break
    return results


def _opened(order, runner):
    """Makes this run the owner of the journal. Where there is none, nothing was drained that could be restored."""
    journal = OwnedJournal(runner.journal, runner.run_id, order["open"].get("fence"))
    if order["direction"] == "drain":
        if journal.asks_for_events():
            incarnation = _ownership.check_that_events_are_shown(journal.fence, **runner.here.service)
            runner.audit = _audit.having_read(runner.audit, incarnation)
        events, before = order["open"]["events"], runner.journal.read() or {}
        boot = runner.here.clock.boot_id()
        data = journal.take(lambda data: begun(data, events, runner.run_id, boot, utc_now()))
        if before.get("run_id") != runner.run_id:
            runner.tell("drain begins", data, taken_from=before.get("run_id"))
        return data
    before = runner.journal.read()
    if before is None:
        journal.check_that_it_was_lost(order["open"].get("expected") or [])
        return None
    # What the run has seen of its approvals is told along with the return, which saves a call.
    confirmed = documents.newly_confirmed(before, order["open"].get("effects") or {})
    data = journal.take(
        lambda data: data and dict(documents.with_confirmed(data, confirmed), state="restoring", run_id=runner.run_id),
        may_be_old=True,
    )
    runner.tell_confirmed(confirmed)
    return data


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
