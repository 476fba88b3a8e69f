#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _run
short_description: "[INTERNAL] Decides what a run does next"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] It reads the state of the run from its store, decides, and keeps the new state there."
  - It runs on the controller and touches no host.
  - This is what the plays of C(maintenance.azure.drain_then_approve) ask. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  do:
    description: What is to be decided.
    type: str
    required: true
    choices:
      - begin
      - plan
      - check
      - decide
      - confirm_drain
      - order
      - confirm_approval
      - record
      - leftovers
      - sum_up
  run_id:
    description: The name of the run. Without it, it is given one.
    type: str
  pattern:
    description: The host pattern of the run, as its variable has it.
    type: str
    default: all
  pattern_hosts:
    description: The hosts of the pattern of the run, whatever C(--limit) says.
    type: list
    elements: str
    default: []
  lock_hosts:
    description: The lock hosts, where the user has named them.
    type: list
    elements: str
  records:
    description: What the other machines answered that were asked for their records.
    type: list
    elements: dict
    default: []
  nodes:
    description: What the clusters answered that were asked for their nodes.
    type: list
    elements: dict
    default: []
  run_settings:
    description: What the user has set, by the names of the variables.
    type: dict
    default: {}
"""

EXAMPLES = r"""
- name: Begin, as the playbook does
  maintenance.azure._run:
    do: begin
    pattern_hosts: "{{ ansible_play_hosts_all }}"
  register: begun
  run_once: true
"""

RETURN = r"""
calls:
  description: The lock hosts to ask next, and what they are told.
  type: list
  elements: dict
  returned: where the lease is needed next
reads:
  description: The hosts to read next.
  type: list
  elements: str
  returned: where that is decided
lines:
  description: What an operator is shown.
  type: list
  elements: str
  returned: where there is something to show
"""
