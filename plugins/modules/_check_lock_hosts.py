#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _check_lock_hosts
short_description: "[INTERNAL] Which hosts the playbook check asks for leases"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Tells the lock hosts of the hosts of a play, on the controller, as a run would choose them."
  - It is part of the playbook C(maintenance.azure.check). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
options:
  lock_hosts:
    description: The lock hosts, where the user has named them.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: See who keeps which lease
  maintenance.azure._check_lock_hosts:
  register: lock_hosts
  run_once: true
"""

RETURN = r"""
calls:
  description: Each with a C(group) and one lock host, C(lock_host).
  type: list
  elements: dict
  returned: success
"""
