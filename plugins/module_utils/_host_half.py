# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of a task that runs on the managed host: ask, and hand the answers to the controller."""

from ansible_collections.maintenance.azure.plugins.module_utils._imds import DEFAULT_ENDPOINT, ImdsError, approve, read
from ansible_collections.maintenance.azure.plugins.module_utils._leases import discovered_endpoints


def endpoints_to_try(endpoint):
    if endpoint != "auto":
        return [endpoint]
    return [DEFAULT_ENDPOINT] + discovered_endpoints()


def answer_of_the_service(module):
    """Ask the service and leave the module with its answers as they came."""
    try:
        answers = _ask(module.params)
    except ImdsError as error:
        module.fail_json(msg=str(error), kind=error.kind, status=error.status)
    module.exit_json(changed=False, answers=answers)


def _ask(options):
    approval = options.get("_approval")
    if approval:
        return approve(options["endpoint"], options["api_version"], timeout=options["timeout"], **approval)
    return read(
        endpoints_to_try(options["endpoint"]),
        options["api_version"],
        with_instance=not options["vm_name"],
        timeout=options["timeout"],
    )
