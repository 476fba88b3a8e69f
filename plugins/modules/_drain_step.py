#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _drain_step
short_description: "[INTERNAL] Do or undo one step of a drain"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Does what C(drain.yml) or C(restore.yml) of a kind of step is there for, and keeps the journal, in one
    round trip."
  - It is what the roles P(maintenance.azure.drain#role) and P(maintenance.azure.restore#role) are made of. In a play of
    your own use the roles; in a kind of step of your own use any module.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
    details: Looks at the host and says what would be done.
  diff_mode:
    support: none
  idempotent:
    description: A second run changes nothing.
    support: partial
    details: Commands that are part of a step are run again.
options:
  plan:
    description: What M(maintenance.azure._drain_plan) returned, or the latest result of this module.
    type: dict
    required: true
  position:
    description: Which item of the plan's work.
    type: int
    required: true
  perform:
    description:
      - V(step) looks, writes the journal, does the step and writes the journal.
      - V(claim), V(record) and V(act) are its parts, for a step whose work is done on another host than this. V(claim)
        writes down on that host what is going to be done there for whom, and what was found before; V(act) does it if
        that record is still this run's.
      - V(finish) writes down what the steps before have left open. After a return to service
        it checks the health and closes the journal.
      - V(unhealthy) tells that a check of health has failed which other tasks have made, as on a Windows host.
    type: str
    choices: [step, claim, record, act, finish, unhealthy]
    default: step
  status:
    description: For O(perform=record), what became of the step.
    type: str
    choices: [started, done, failed, undone]
    default: started
  before:
    description: For O(perform=record) and O(perform=act), what was found before the step.
    type: dict
  error:
    description: For O(perform=record) with O(status=failed) and for O(perform=unhealthy), why. The task then fails with
      a sentence that tells it.
    type: str
  records:
    description: For O(perform=claim) and O(perform=act), the folder for records on the host that does the work.
    type: str
seealso:
  - module: maintenance.azure._drain_plan
  - module: maintenance.azure.drain_journal
"""

EXAMPLES = r"""
- name: Stop the services
  maintenance.azure._drain_step:
    plan: "{{ drain_result }}"
    position: "{{ drain_step.position }}"
  register: drain_result
"""

RETURN = r"""
state:
  description: State of the journal after this.
  type: str
  returned: always
steps:
  description: What became of the steps so far.
  type: list
  elements: dict
  returned: always
done:
  description: What was changed, or would be in check mode, in words.
  type: list
  elements: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils._host.options import ORDER, step_options
from ..module_utils._steps.command_entry import carried_out


def main():
    module = AnsibleModule(argument_spec=step_options(), supports_check_mode=True)
    result = carried_out(module.params["plan"][ORDER], module.check_mode)
    if result.get("failed"):
        module.fail_json(**result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
