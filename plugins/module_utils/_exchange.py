# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One exchange with the metadata service: a request of the controller in, what came of it out, both plain data.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils import _imds, _leases


def exchange(request):
    """Returns {answers}, or {failed, msg, kind, status}."""
    try:
        return {"answers": _ask(request)}
    except _imds.ImdsError as error:
        return {"failed": True, "msg": str(error), "kind": error.kind, "status": error.status}


def _ask(request):
    approval = request.get("approval")
    version, timeout = request["api_version"], request["timeout"]
    if approval:
        return _imds.approve(request["endpoints"][0], version, approval["expected"], approval["body"], timeout)
    endpoints = request["endpoints"]
    if endpoints == ["auto"]:
        endpoints = [_imds.DEFAULT_ENDPOINT] + _leases.discovered_endpoints()
    return _imds.read(endpoints, version, request["with_instance"], timeout)
