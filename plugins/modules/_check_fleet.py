#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _check_fleet
short_description: "[INTERNAL] Put together what the playbook check saw"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Makes one report of what C(_check_host) returned for all hosts, on the controller."
  - It is part of the playbook C(maintenance.azure.check). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
    details: Writes no report.
  diff_mode:
    support: none
options:
  hosts:
    description: The hosts, each with the result of C(_check_host) as C(__check_host).
    type: list
    elements: str
    required: true
  asked_service:
    description: Whether the metadata service was asked.
    type: bool
    default: false
  asked_facts:
    description: Whether the facts of the service were looked at.
    type: bool
    default: false
  machines:
    description: The results of C(_check_machine) in a loop.
    type: list
    elements: dict
    default: []
  leases:
    description: What the lock hosts said, in a loop.
    type: list
    elements: dict
    default: []
  policy:
    description: The policy. By default that of the playbook C(maintenance.azure.drain_then_approve).
    type: raw
  max_at_once:
    description: What C(maintenance_max_at_once) is.
    type: raw
  min_in_service:
    description: What C(maintenance_min_in_service) is.
    type: raw
  report:
    description: Path of a JSON file on the controller for the report.
    type: path
"""

EXAMPLES = r"""
- name: Put together what was seen
  maintenance.azure._check_fleet:
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
verdict:
  description: The worst of all.
  type: str
  choices: [good, doubtful, bad]
  returned: success
summary:
  description: One sentence.
  type: str
  returned: success
lines:
  description: One line for each point.
  type: list
  elements: str
  returned: success
report:
  description: What is written to O(report).
  type: dict
  returned: success
"""
