# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host command that queries the metadata service.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .._azure import http
from .._azure import imds as _imds
from . import approval_command as _approval_command
from . import files
from . import journal as _journal
from . import run_mark as _run_mark


def carried_out(request, check_mode, here=files.HERE):
    """Return the result for a request: {answers}, or {failed, msg, kind, status}.

    With `journal`, that is the `reading` next to other results: {reading, kept, clock, run_mark}.
    """
    renewal = None if check_mode else request.get("renewal")
    at_work = here.at_work(here.expanded(renewal["path"])) if renewal else None
    # The files of a Windows host are read along with the service, so they are named first.
    journal = _journal.JournalFile(here.expanded(request["journal"]), True, here) if request.get("journal") else None
    # Read before the document, so that a reading is never taken for newer than it is.
    clock = here.clock.told() if here.can_act else None
    if at_work and here.can_act:
        at_work.renew(renewal["run_id"])
    # A host that is managed from the controller has no watcher.
    mark = request.get("mark") if here.can_act and not check_mode else None
    run_mark = _run_mark.left_by_a_run(mark["path"], mark["run_id"]) if mark else None
    result = answered(request, check_mode, here=here, **here.service)
    if not here.can_act:
        # Such a host returned its clock with the answer, read before its request.
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
    """Send a reading or an approval to the service and return its answer."""
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
