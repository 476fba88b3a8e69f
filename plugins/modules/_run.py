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
  - "[INTERNAL] The state of a run goes in as a text, and comes out as one."
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
      - drained
      - order
      - confirm_approval
      - returned
      - record
      - leftovers
      - sum_up
  state:
    description: What the run knows, as it was returned before.
    type: str
  round:
    description: What was decided in this round, as it was returned before.
    type: str
  hosts:
    description: The hosts of the play, or of the batch.
    type: list
    elements: str
  run_id:
    description: The name of the run. Without it, it is given one.
    type: str
  pattern_hosts:
    description: The hosts of the pattern of the run, whatever C(--limit) says.
    type: list
    elements: str
    default: []
  lock_hosts:
    description: The lock hosts, where the user has named them.
    type: list
    elements: str
  asked:
    description: How many lock hosts were asked right before.
    type: int
    default: 0
  answers:
    description: What the lock hosts answered before, as it was returned then.
    type: str
  others:
    description: The hosts outside of the batch that were read again.
    type: list
    elements: str
  wave:
    description: The number of the wave.
    type: int
    default: 0
  nodes:
    description: What clusters answered about nodes that are drained.
    type: list
    elements: dict
    default: []
  records:
    description: What the other machines answered that were asked for their records.
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
    hosts: "{{ ansible_play_hosts_all }}"
  register: begun
  run_once: true
"""

RETURN = r"""
run:
  description: The state of the run as a text, and what the plays need to know of it.
  type: dict
  returned: where it has changed
lines:
  description: What to tell the operator.
  type: list
  elements: str
  returned: where there is something to tell
"""
