# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that asks the metadata service.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .._azure import http
from .._azure import imds as _imds
from . import approval_command as _approval_command
from . import files
from . import journal as _journal
from . import run_mark as _run_mark


def carried_out(request, check_mode, here=files.HERE):
    """The result for a request: {answers}, or {failed, msg, kind, status}.

    With `journal`, that is the `reading` beside the results of other looks: {reading, kept, clock, run_mark}.
    """
    renewal = None if check_mode else request.get("renewal")
    at_work = here.at_work(here.expanded(renewal["path"])) if renewal else None
    # Of a Windows host all files are looked at along with the service, so they are named before it is asked.
    journal = _journal.JournalFile(here.expanded(request["journal"]), True, here) if request.get("journal") else None
    # The clock first: what is read after it is never taken for newer than it is.
    clock = here.clock.told() if here.can_act else None
    if at_work and here.can_act:
        at_work.renew(renewal["run_id"])
    # There is no watcher on a machine that is worked on from elsewhere.
    mark = request.get("mark") if here.can_act and not check_mode else None
    run_mark = _run_mark.left_by_a_run(mark["path"], mark["run_id"]) if mark else None
    result = answered(request, check_mode, here=here, **here.service)
    if not here.can_act:
        # Such a machine has told its clock along with the answer, before it asked.
        clock = here.clock.told()
        if at_work:
            at_work.renew(renewal["run_id"])
    if not journal:
        return result
    return dict(changed=False, reading=result, kept=_kept_in(journal, here), clock=clock, run_mark=run_mark)


def _kept_in(journal, here):
    try:
        data = journal.read()
    except _journal.JournalError as error:
        return {"failed": True, "changed": False, "msg": str(error)}
    worked_on_for = here.at_work(journal.path).left(data.get("run_id")) if data else 0
    return {"changed": False, "journal": data and dict(data, worked_on_for=worked_on_for)}


def answered(request, check_mode, transport=http.HttpTransport, discovered_endpoints=None, here=files.HERE):
    """What the service says to a reading or an approval, by whichever transport."""
    approval = request.get("approval")
    if check_mode and approval:
        return _failed("No approval is sent in check mode.", "check_mode", None)
    try:
        if approval and approval.get("marking"):
            return _approval_command.sent(request, transport, here)
        return {"changed": False, "answers": dict(_ask(request, transport, discovered_endpoints))}
    except _imds.ImdsError as error:
        return _failed(str(error), error.kind, error.status)


def _failed(message, kind, status):
    return {"changed": False, "failed": True, "msg": message, "kind": kind, "status": status}


def _ask(request, transport, discovered_endpoints):
    approval = request.get("approval")
    if not approval:
        return _imds.read(request, transport, discovered_endpoints)
    return _imds.approve(
        request["endpoints"][0],
        request["api_version"],
        approval.get("expected"),
        approval["body"],
        request["timeout"],
        transport,
        approval.get("expected_sha256"),
    )
