# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exchange with the metadata service: a request of the controller in, what came of it out, both plain data.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._drain import at_work as _at_work
from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock as _host_clock
from ansible_collections.maintenance.azure.plugins.module_utils._drain import marked_approval as _marked_approval
from ansible_collections.maintenance.azure.plugins.module_utils._service import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._service import reading as _reading


def carried_out(request, check_mode, transport=_imds.HttpTransport, discovered_endpoints=None, is_here=True):
    """The result of the module service_exchange for its options: {answers}, or {failed, msg, kind, status}.

    `is_here`: whether this is the host that is asked, and not a controller that asks by other means.
    """
    approval = request.get("approval")
    if check_mode and approval:
        return _failed("No approval is sent in check mode.", "check_mode", None)
    clock = _host_clock.told() if is_here else None
    renewal = request.get("renewal")
    if renewal and is_here and not check_mode:
        _at_work.AtWork(_at_work.expanded(renewal["path"])).renew(renewal["run_id"])
    try:
        if approval and approval.get("marking"):
            return _marked_approval.sent(request, transport)
        answers = _ask(request, transport, discovered_endpoints)
        return {"changed": False, "answers": dict(answers, clock=clock)}
    except _imds.ImdsError as error:
        return _failed(str(error), error.kind, error.status)


def _failed(message, kind, status):
    return {"changed": False, "failed": True, "msg": message, "kind": kind, "status": status}


def _ask(request, transport, discovered_endpoints):
    approval = request.get("approval")
    if not approval:
        return _reading.read(request, transport, discovered_endpoints)
    return _imds.approve(
        request["endpoints"][0],
        request["api_version"],
        approval.get("expected"),
        approval["body"],
        request["timeout"],
        transport,
        approval.get("expected_sha256"),
    )
