#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _drain
short_description: "[INTERNAL] Drain a host, or return it to service"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Takes the steps from the variable C(drain_steps), resolved for the event with the nearest deadline, or
    for the one that the journal has kept. What is to be undone comes from there too; the journal only says which of
    the steps were done and what was found before."
  - Checks the steps before anything is touched, opens the journal of the host, does the steps, or undoes them, up to
    the first that needs tasks of its own, and returns which are left and how much time there is for them.
  - The roles P(maintenance.azure.drain#role) and P(maintenance.azure.restore#role) consist of it. In a play of your
    own use the roles; in a kind of step of your own use any module.
  - Options that are not given are taken from the variables of the role that O(do) names.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
    details: Looks at the host and returns what would be done. The journal is not written.
  diff_mode:
    support: none
  idempotent:
    description: A second run changes nothing.
    support: partial
    details: Commands that are part of a step are run again.
options:
  do:
    description:
      - V(drain) drains the host, V(restore) undoes what was drained.
      - V(step) does or undoes one step, and keeps the journal, in one round trip.
    type: str
    choices: [drain, restore, step]
    required: true
  steps_path:
    description: With O(do=drain) and O(do=restore), directories on the controller with kinds of steps of your own.
    type: list
    elements: path
    default: []
  events:
    description: With O(do=drain), the events that are the reason, as in C(maintenance_status.events).
    type: list
    elements: dict
    default: []
  health:
    description: With O(do=restore), the checks that must pass before the journal is closed.
    type: list
    elements: raw
    default: []
  journal:
    description: With O(do=drain) and O(do=restore), path of the journal on the host.
    type: path
    default: /var/lib/azure-maintenance/journal.json
  timeout:
    description: With O(do=drain) and O(do=restore), seconds for all steps together.
    type: int
    default: 600
  reserve:
    description: With O(do=drain), how many seconds before the nearest deadline of O(events) the drain has to be done.
    type: int
    default: 5
  seen:
    description: >-
      With O(do=restore), the journal as it was last seen. Where it is still so, opening it and undoing what comes
      first is done in one go.
    type: dict
  run_id:
    description: With O(do=drain) and O(do=restore), name of this run, for the journal. By default one is made up.
    type: str
    default: ""
  fence:
    description:
      - With O(do=drain) and O(do=restore), what the run knew of this host when it decided. The host compares it with
        its own clock and its own journal, and does nothing where that has changed. The task then fails, and RV(refused)
        has the reason in one word. Without it nothing is compared.
      - V(age) is another boot, or more time than O(fence.at_most). V(owner) is a journal of another run than
        O(fence.owner) and this one. V(worked_on) is another run that is at work there. V(gone) is an event of
        O(fence.events) that is no longer shown, or not as it has to be. V(not_drained) is a journal that is missing,
        unfinished or of a return that has begun. V(unread) is a service that does not tell. V(drained) is a journal
        that can't be forgotten.
    type: dict
    suboptions:
      boot_id:
        description: The boot in which the host was read, as C(clock) of M(maintenance.azure.drain_journal) returns it.
        type: str
      seconds:
        description: The host's own time at that moment.
        type: float
      at_most:
        description: How many seconds may have passed since.
        type: float
        default: 40
      owner:
        description: The run whose the journal was, or nothing where there was none.
        type: str
      events:
        description: Events that the host must still be shown.
        type: list
        elements: str
        default: []
      scheduled:
        description: Whether these events must not have started.
        type: bool
        default: false
      drained:
        description: Whether the host must be drained, in this boot and with all steps.
        type: bool
        default: false
      may_start:
        description:
          - For an approval, events that may have started by now, as they had before, or as the same wave starts them.
            Then only what matters is compared right before it is sent, that the event is as it was judged and that
            nothing else has started, and not the whole document.
        type: list
        elements: str
      ask:
        description: How the host asks for its events. It is filled in.
        type: dict
  endpoint:
    description: >-
      With O(do=drain) and O(do=restore), for the events of O(fence), base URL of the metadata service, or V(auto).
    type: str
    default: http://169.254.169.254
  api_version:
    description: >-
      With O(do=drain) and O(do=restore), for the events of O(fence), the version of the Scheduled Events interface.
    type: str
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
    default: "2020-07-01"
  plan:
    description: With O(do=step), what O(do=drain) or O(do=restore) returned, or the result of the step before.
    type: dict
  position:
    description: With O(do=step), which item of the plan's work.
    type: int
  perform:
    description:
      - With O(do=step), how much of it.
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
    description: With O(do=step), for O(perform=record), what became of the step.
    type: str
    choices: [started, done, failed, undone]
    default: started
  before:
    description: With O(do=step), for O(perform=record) and O(perform=act), what was found before the step.
    type: dict
  error:
    description: >-
      With O(do=step), for O(perform=record) with O(status=failed) and for O(perform=unhealthy), why. The task then
      fails with a sentence that tells it.
    type: str
  records:
    description: >-
      With O(do=step), for O(perform=claim) and O(perform=act), the folder for records on the host that does the work.
    type: str
seealso:
  - module: maintenance.azure.drain_journal
"""

EXAMPLES = r"""
- name: Check the steps, open the journal and drain the host
  maintenance.azure._drain:
    do: drain
  register: drain_result

- name: Stop the services
  maintenance.azure._drain:
    do: step
    plan: "{{ drain_result }}"
    position: "{{ drain_step.position }}"
  register: drain_result
"""

RETURN = r"""
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
