# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reading of the service as the controller asks for it, from an endpoint that is named or has to be found.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._service import dhcp_leases as _leases
from ansible_collections.maintenance.azure.plugins.module_utils._service import endpoint as _endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._service import http_transport as _http_transport
from ansible_collections.maintenance.azure.plugins.module_utils._service import imds as _imds


def read(request, transport=_http_transport.HttpTransport, discovered_endpoints=None):
    """`request` is {endpoints, api_version, with_instance, timeout}."""
    endpoints = request["endpoints"]
    if endpoints == ["auto"]:
        endpoints = [_endpoint.DEFAULT_ENDPOINT] + (discovered_endpoints or _leases.discovered_endpoints)()
    return _imds.read_from(endpoints, request["api_version"], request["with_instance"], request["timeout"], transport)
