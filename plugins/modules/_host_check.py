#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _host_check
short_description: "[INTERNAL] The host half of the playbook check"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Looks at a machine, and asks its metadata service how it answers, for C(_check_host) and
    C(_check_machine). There is no reason to use it in a playbook."
  - It changes nothing, sends GET requests alone, and at most two of them in a second.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
options:
  look:
    description: What to look at on this machine.
    type: dict
  ask:
    description: What to ask the metadata service.
    type: dict
"""

EXAMPLES = r"""
- name: Look whether a unit is there
  maintenance.azure._host_check:
    look:
      units: [nginx.service]
"""

RETURN = r"""
look:
  description: What is there.
  type: dict
  returned: when asked for
ask:
  description: The reading, and what came to each question.
  type: dict
  returned: when asked for
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._check.look import carried_out


def main():
    module = AnsibleModule(
        argument_spec=dict(look=dict(type="dict"), ask=dict(type="dict")),
        supports_check_mode=True,
    )
    module.exit_json(**carried_out(module.params, module.check_mode))


if __name__ == "__main__":
    main()
