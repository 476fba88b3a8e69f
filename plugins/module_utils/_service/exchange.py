# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exchange with the metadata service: a request of the controller in, what came of it out, both plain data.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._service import dhcp_leases as _leases
from ansible_collections.maintenance.azure.plugins.module_utils._service import imds as _imds


def carried_out(request, check_mode, transport=_imds.HttpTransport, discovered_endpoints=None):
    """The result of the module service_exchange for its options: {answers}, or {failed, msg, kind, status}."""
    if check_mode and request.get("approval"):
        return _failed("No approval is sent in check mode.", "check_mode", None)
    try:
        return {"changed": False, "answers": _ask(request, transport, discovered_endpoints)}
    except _imds.ImdsError as error:
        return _failed(str(error), error.kind, error.status)


def _failed(message, kind, status):
    return {"changed": False, "failed": True, "msg": message, "kind": kind, "status": status}


def _ask(request, transport, discovered_endpoints):
    approval = request.get("approval")
    version, timeout = request["api_version"], request["timeout"]
    if approval:
        endpoint = request["endpoints"][0]
        return _imds.approve(endpoint, version, approval["expected"], approval["body"], timeout, transport)
    endpoints = request["endpoints"]
    if endpoints == ["auto"]:
        endpoints = [_imds.DEFAULT_ENDPOINT] + (discovered_endpoints or _leases.discovered_endpoints)()
    return _imds.read(endpoints, version, request["with_instance"], timeout, transport)
