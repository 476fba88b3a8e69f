#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _host_command
short_description: "[INTERNAL] Run one host command"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Runs a host command of this collection as a module, on hosts where it can't be run as one shell
    command."
  - There is no reason to use it in a playbook. It checks nothing, and sends any approval that it is given.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: partial
    details: Sends no approval and writes no file.
  diff_mode:
    support: none
options:
  name:
    description:
      - The command. V(exchange) asks the metadata service, V(journal) reads or writes the journal, V(lease) a lease,
        V(look) looks at a machine for the playbook C(maintenance.azure.check), V(records) lists the records of what was
        done for other hosts, V(steps) does or undoes drain steps.
    type: str
    choices: [exchange, journal, lease, look, records, steps]
    required: true
  request:
    description: What the command takes.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: List the records of what was done for other hosts
  maintenance.azure._host_command:
    name: records
    request:
      folder: /var/lib/azure-maintenance/records
"""

RETURN = r""" # """

from ansible.module_utils.basic import AnsibleModule


def command(name):
    """Import one command alone, as each of them brings along a package."""
    if name == "exchange":
        from ..module_utils._host.exchange import carried_out
    elif name == "journal":
        from ..module_utils._host.journal_command import carried_out
    elif name == "lease":
        from ..module_utils._host.lease import carried_out
    elif name == "look":
        from ..module_utils._check.look import carried_out
    elif name == "records":
        from ..module_utils._steps.records import carried_out
    else:
        from ..module_utils._steps.command_entry import carried_out
    return carried_out


def main():
    module = AnsibleModule(
        argument_spec=dict(
            name=dict(type="str", required=True, choices=["exchange", "journal", "lease", "look", "records", "steps"]),
            request=dict(type="dict", required=True),
        ),
        supports_check_mode=True,
    )
    result = command(module.params["name"])(module.params["request"], module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
