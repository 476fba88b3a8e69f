#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _records
short_description: "[INTERNAL] Tells for whom something is drained on this machine"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] A machine such as a load balancer keeps records of what was done there for hosts that are drained."
  - This is what a run asks such machines once, when it begins. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  folder:
    description: The folder with the records.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Ask, as a run does
  maintenance.azure._records:
    folder: /var/lib/azure-maintenance/records
  delegate_to: loadbalancer
"""

RETURN = r"""
records:
  description: Each with its C(host), C(vm), C(types), C(events), C(run_id), C(at) and C(path).
  type: list
  elements: dict
  returned: success
unreadable:
  description: Files that are no records.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._steps.records import carried_out


def main():
    module = AnsibleModule(argument_spec=dict(folder=dict(type="path", required=True)), supports_check_mode=True)
    result = carried_out(module.params, module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
