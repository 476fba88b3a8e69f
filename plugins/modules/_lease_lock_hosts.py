#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _lease_lock_hosts
short_description: "[INTERNAL] Choose the hosts that keep a lease"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Names the first three hosts in natural order, or those that the user wants, in an order that is the
    same for every run."
  - It is part of the playbook C(maintenance.azure.awx_fan_out). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
options:
  hosts:
    description: The hosts that share the lease.
    type: list
    elements: str
    required: true
  lock_hosts:
    description: The hosts that keep it instead of the first ones of O(hosts).
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Choose the hosts that keep the lease
  maintenance.azure._lease_lock_hosts:
    hosts: "{{ groups['all'] }}"
  run_once: true
  register: kept_by
"""

RETURN = r"""
lock_hosts:
  description: The hosts.
  type: list
  elements: str
  returned: success
  sample: [web-1, web-2, web-10]
"""
