#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _check_machine
short_description: "[INTERNAL] What the playbook check looks at where steps are done for other hosts"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Looks whether a machine such as a load balancer can be reached, has what steps need there,
    and still keeps records of what was done for hosts."
  - It is part of the playbook C(maintenance.azure.check). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
options:
  entries:
    description: What C(_check_host) returned as C(elsewhere) about this machine.
    type: list
    elements: dict
    required: true
  records:
    description: Folder of the records, where this machine has one of its own.
    type: str
"""

EXAMPLES = r"""
- name: Look at the load balancer
  maintenance.azure._check_machine:
    entries: "{{ __check_host.elsewhere }}"
  delegate_to: lb1
"""

RETURN = r"""
findings:
  description: One for each point, with C(area), C(point), C(verdict), C(seen) and C(do).
  type: list
  elements: dict
  returned: success
keeps_records:
  description: Whether steps are recorded there.
  type: bool
  returned: success
records:
  description: The records that are kept there, or null where they could not be looked at.
  type: list
  elements: dict
  returned: success
"""
