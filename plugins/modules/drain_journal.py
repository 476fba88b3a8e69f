#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: drain_journal
short_description: Read or correct the journal of a drain
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - The journal is a file on the host that says what was drained, for which events, and what was found before, so that
    a later run, also one from another controller, can continue or undo it.
  - The roles P(maintenance.azure.drain#role) and P(maintenance.azure.restore#role) keep it. Others only need to read
    it, which is what the module does by default.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
attributes:
  platform:
    platforms: posix, windows
  check_mode:
    support: full
    details: Nothing is written; the result is what the journal would be.
  diff_mode:
    support: none
  idempotent:
    description: A second run changes nothing.
    support: partial
    details: Reading is. A step is written with the time.
options:
  path:
    description: The journal. C(~) and variables in it are those of the host.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  state:
    description:
      - V(read) reads.
      - V(step) writes O(steps) down, such as those that a person has undone by hand.
    type: str
    choices: [read, step]
    default: read
  steps:
    description: For O(state=step), what became of steps.
    type: list
    elements: dict
    default: []
    suboptions:
      number:
        description: Number of the step in the journal.
        type: int
        required: true
      status:
        description: What became of it.
        type: str
        choices: [started, done, failed, undone]
        required: true
"""

EXAMPLES = r"""
- name: Read what was drained here
  maintenance.azure.drain_journal:
  register: read

- name: Tell
  ansible.builtin.debug:
    msg: "{{ inventory_hostname }} is {{ read.journal.state if read.journal else 'not drained' }}"
"""

RETURN = r"""
journal:
  description: What the journal holds, or null where there is none.
  type: dict
  returned: success
  contains:
    state:
      description: V(draining), V(drained), V(restoring), or V(marked) where nothing was drained and an approval began.
      type: str
    worked_on_for:
      description: For how many seconds its owner is still at work on the host, unless it goes on. 0 where it is not.
      type: float
    marks:
      description: The approvals that have begun.
      type: list
      elements: dict
    events:
      description: The events that are the reason.
      type: list
      elements: dict
    run_id:
      description: The run that wrote last.
      type: str
    boot_id:
      description: The boot in which the host was drained.
      type: str
    started_at:
      description: When the drain began.
      type: str
    drained_at:
      description: When all steps were done, or null.
      type: str
    steps:
      description: The steps, in the order in which they were done.
      type: list
      elements: dict
boot_id:
  description: The boot that the host is in now, or null where the system does not tell.
  type: str
  returned: success
clock:
  description: The host's own time, C(boot_id) and C(seconds) since then, or by its clock where it does not tell these.
  type: dict
  returned: success
now:
  description: The host's time in UTC.
  type: str
  returned: success
"""
