# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that asks the metadata service.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .._azure import http as _http
from .._azure import imds as _imds
from . import approval_command as _approval_command
from . import run_mark as _run_mark
from .files import HERE


def carried_out(
    request,
    check_mode,
    transport=_http.HttpTransport,
    discovered_endpoints=None,
    is_here=True,
    here=HERE,
):
    """The result for a request: {answers}, or {failed, msg, kind, status}.

    `is_here`: whether this is the host that is asked, and not a controller that asks by other means.
    """
    approval = request.get("approval")
    if check_mode and approval:
        return _failed("No approval is sent in check mode.", "check_mode", None)
    transport = here.service.get("transport", transport)
    discovered_endpoints = here.service.get("discovered_endpoints", discovered_endpoints)
    renewal = request.get("renewal") if is_here and not check_mode else None
    at_work = here.at_work(here.expanded(renewal["path"])) if renewal else None
    clock = here.clock.told() if is_here and here.can_act else None
    if at_work and here.can_act:
        at_work.renew(renewal["run_id"])
    # There is no watcher on a machine that is worked on from elsewhere.
    mark = request.get("mark") if is_here and here.can_act and not check_mode else None
    run_mark = _run_mark.left_by_a_run(mark["path"], mark["run_id"]) if mark else None
    result = _result(request, transport, discovered_endpoints, here)
    if not here.can_act:
        # Such a machine has told its clock along with the answer, before it asked.
        clock = here.clock.told()
        if at_work:
            at_work.renew(renewal["run_id"])
    if "answers" in result:
        result["answers"].setdefault("clock", clock)
        result["answers"].setdefault("run_mark", run_mark)
    return result


def _result(request, transport, discovered_endpoints, here):
    approval = request.get("approval")
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
