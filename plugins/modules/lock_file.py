#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: lock_file
short_description: The host half of run_lock
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Takes, renews or gives back the lock in one file on one host.
  - This is what M(maintenance.azure.run_lock) runs on a keeper. There is no reason to use it in a playbook.
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
  state:
    description: Whether to take or renew the lock, or to give it back.
    type: str
    choices: [present, absent]
    default: present
  expires:
    description: Seconds until the lock ends unless it is renewed.
    type: int
    required: true
  me:
    description: Who asks.
    type: dict
    required: true
  replace:
    description: The owner that is known to be dead, and whose lock may be taken.
    type: dict
"""

EXAMPLES = r"""
- name: Take the lock, as run_lock does
  maintenance.azure.lock_file:
    path: /var/lib/azure-maintenance/run.lock
    expires: 300
    me: {run_id: by hand, controller: here, pid: 1}
"""

RETURN = r"""
held:
  description: Whether the lock is now held by who asked.
  type: bool
  returned: success
holder:
  description: Who holds it.
  type: dict
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.maintenance.azure.plugins.module_utils._lock.lock_file import carried_out


def main():
    module = AnsibleModule(
        argument_spec=dict(
            path=dict(type="path", required=True),
            state=dict(type="str", default="present", choices=["present", "absent"]),
            expires=dict(type="int", required=True),
            me=dict(type="dict", required=True),
            replace=dict(type="dict"),
        ),
        supports_check_mode=True,
    )
    result = carried_out(module.params, module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
