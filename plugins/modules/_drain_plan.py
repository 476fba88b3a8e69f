#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _drain_plan
short_description: "[INTERNAL] Plan what the drain of a host, or its return to service, has to do"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Takes the steps from the variable C(drain_steps), resolved for the event with the nearest deadline, or
    for the one that the journal has kept. What is to be undone comes from there too; the journal only says which of
    the steps were done and what was found before."
  - Checks the steps before anything is touched, opens the journal of the host, does the steps, or undoes them, up to
    the first that needs tasks of its own, and says which are left and how much time there is for them.
  - It is what the roles P(maintenance.azure.drain#role) and P(maintenance.azure.restore#role) begin with. In a play of
    your own use the roles.
  - Options that are not given are taken from the variables of the role that O(direction) names.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._fence
  - maintenance.azure._fence.service
attributes:
  check_mode:
    support: full
    details: The journal is not written.
  diff_mode:
    support: none
  idempotent:
    description: A second run changes nothing.
    support: full
options:
  direction:
    description: Whether to drain, or to undo what was drained.
    type: str
    choices: [drain, restore]
    required: true
  steps_path:
    description: Directories on the controller with kinds of steps of your own.
    type: list
    elements: path
    default: []
  events:
    description: The events that are the reason, as in C(maintenance_status.events).
    type: list
    elements: dict
    default: []
  health:
    description: For O(direction=restore), the checks that must pass before the journal is closed.
    type: list
    elements: dict
    default: []
  journal:
    description: Path of the journal on the host.
    type: path
    default: /var/lib/azure-maintenance/journal.json
  timeout:
    description: Seconds for all steps together.
    type: int
    default: 600
  reserve:
    description: How many seconds before the nearest deadline of O(events) the drain has to be done.
    type: int
    default: 5
  seen:
    description: >-
      For O(direction=restore), the journal as it was last seen. Where it is still so, opening it and undoing what comes
      first is done in one go.
    type: dict
  run_id:
    description: Name of this run, for the journal. By default one is made up.
    type: str
    default: ""
seealso:
  - module: maintenance.azure._drain_step
  - module: maintenance.azure.drain_journal
"""

EXAMPLES = r"""
- name: Check the steps and open the journal
  maintenance.azure._drain_plan:
    direction: drain
    steps:
      - services: {names: [nginx]}
  register: drain_result
"""

RETURN = r"""
state:
  description: State of the journal, or V(nothing) where there is nothing to undo.
  type: str
  returned: success
steps:
  description: The steps in the journal.
  type: list
  elements: dict
  returned: success
work:
  description: What is left to do, in order.
  type: list
  elements: dict
  returned: success
boot_id:
  description: The boot that the host is in.
  type: str
  returned: success
deadline:
  description: When the time for all this is over, in seconds since 1970.
  type: float
  returned: success
refused:
  description: Why the host did nothing, in one word, see O(fence).
  type: str
  returned: when the host refuses
"""
