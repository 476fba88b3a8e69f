#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _lease_file
short_description: "[INTERNAL] The host half of lease"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Takes, renews, releases or reads the lease in one file on one host."
  - This is what M(maintenance.azure.lease) runs on a lock host. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  path:
    description: The file.
    type: path
    required: true
  do:
    description: What to do with the lease.
    type: str
    choices: [take, renew, release, read]
    required: true
  seconds:
    description: How long the lease lasts.
    type: int
    default: 90
  me:
    description: Who asks. Needed unless O(do=read).
    type: dict
  replace:
    description: The owner that is known to be dead, and whose lease may be taken.
    type: dict
  notes:
    description: Notes to write.
    type: list
    elements: dict
    default: []
  forget:
    description: Hosts whose notes are removed.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See who has the lease, as lease does
  maintenance.azure._lease_file:
    path: /var/lib/azure-maintenance/run.lock
    do: read
"""

RETURN = r"""
held:
  description: Whether the lease is now held by who asked.
  type: bool
  returned: success
holder:
  description: Who has it.
  type: dict
  returned: success
notes:
  description: The notes beside it.
  type: list
  elements: dict
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.lease import carried_out


def main():
    module = AnsibleModule(
        argument_spec=dict(
            path=dict(type="path", required=True),
            do=dict(type="str", required=True, choices=["take", "renew", "release", "read"]),
            seconds=dict(type="int", default=90),
            me=dict(type="dict"),
            replace=dict(type="dict"),
            notes=dict(type="list", elements="dict", default=[]),
            forget=dict(type="list", elements="str", default=[]),
        ),
        required_if=[("do", state, ["me"]) for state in ("take", "renew", "release")],
        supports_check_mode=True,
    )
    result = carried_out(module.params, module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
