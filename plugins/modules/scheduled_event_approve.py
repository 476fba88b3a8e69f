#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: scheduled_event_approve
short_description: Let planned maintenance of a VM begin now
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Approves Scheduled Events, so that Azure starts them at once and does not wait for their time to come.
  - An approval counts for every VM that the event names and can't be taken back. So an event is approved only if every
    VM that it names belongs to a host in O(drained), unless O(uncovered=allow).
  - Where several hosts of a play are named by the same event, exactly one of them sends the approval.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._service
attributes:
  platform:
    platforms: posix, windows
  check_mode:
    support: full
    details: Reads the events and says what would be approved, refused, and by whom it would be sent.
  diff_mode:
    support: full
    details: Shows each event's status before and after.
  idempotent:
    description: A second run changes nothing.
    support: full
    details: An event that has started or is over is neither approved again nor an error.
options:
  event_ids:
    description:
      - Which events to approve, in any case of letters. One that is no longer listed is reported in RV(gone).
      - By default all events that name this VM and have not started.
    type: list
    elements: str
  drained:
    description:
      - The inventory hosts that are ready to be interrupted. By default this host alone.
      - This module trusts this list, and does not check whether anything was drained there. The roles do, from the
        journals of the hosts.
      - A host stands for the VM that its C(maintenance_status.this_host.vm_name) names, else its variable
        C(maintenance_vm_name), else its inventory name.
      - What a host says of itself counts only if the inventory confirms it, by C(maintenance_vm_name), by a resource id
        in C(id) or C(resource_id), by C(name) or C(computer_name), or by its inventory name, and if no other host of
        the inventory is that VM. Otherwise it covers nothing, and sends no approval. Hosts that are called by address
        need C(maintenance_vm_name).
      - Two resource groups may hold VMs of one name. So a host that was never read, and has no C(maintenance_status),
        stands for a VM only if its variables C(resource_group) and C(subscription_id) are those of the VM that sends
        the approval. Instead of them an Azure resource id in C(id) or C(resource_id) will do, as an inventory of
        C(azure.azcollection.azure_rm) has it.
      - A host that is known to be of another resource group or subscription never counts.
      - Of two hosts that claim to be one VM only the one counts that the inventory says it is, by
        C(maintenance_vm_name), by C(name) and resource group, or by its inventory name. Where it does not say that,
        neither counts.
      - This host itself counts for its own name, if it is in the list and the inventory confirms that name.
    type: list
    elements: str
  uncovered:
    description:
      - What to do with an event that names a VM outside of O(drained).
      - V(refuse) does not approve it and fails, after the other events were approved.
      - V(allow) approves it anyway. That interrupts VMs that may not be ready for it.
    type: str
    choices: [refuse, allow]
    default: refuse
  leader:
    description:
      - Who sends the approval of an event that names several hosts of this run.
      - With V(elect) exactly one of them does, the first that is ready to. If it can't, the next one tries, and only
        the last one fails.
      - With V(self) this host sends it, regardless of the others.
    type: str
    choices: [elect, self]
    default: elect
  wait_for:
    description:
      - How far to follow the events before the task ends.
      - V(nothing) sends, and ignores a lost answer of the service.
      - V(accepted) makes sure that the service took the approval.
      - V(started) waits until the events have started, V(finished) until they are over. Azure takes a
        finished event away some 10 minutes after the VM is back.
    type: str
    choices: [nothing, accepted, started, finished]
    default: accepted
  wait_timeout:
    description: Seconds for O(wait_for), from the approval on.
    type: int
    default: 900
notes:
  - Whoever may run a process on a VM may approve its events. The service asks for no credentials.
  - With C(run_once) or C(delegate_to) nobody else can step in for the host that runs the task.
  - Azure deletes no VM of a scale set while another deletion in it is neither approved nor timed out. The task reports
    it when it has to wait for that.
seealso:
  - module: maintenance.azure.scheduled_event_info
"""

EXAMPLES = r"""
- name: Let the maintenance of this VM begin, now that it is drained
  maintenance.azure.scheduled_event_approve:

- name: Read all hosts of the batch, so that it is known which VMs they are
  maintenance.azure.scheduled_event_info:
  register: maintenance_status

- name: Approve for a whole batch of drained hosts, and wait until it is over
  maintenance.azure.scheduled_event_approve:
    drained: "{{ ansible_play_batch }}"
    wait_for: finished
    wait_timeout: 1800

- name: Read what is planned
  maintenance.azure.scheduled_event_info:
    event_sources: [User]
  register: planned

- name: Approve what a person asked for in the portal
  maintenance.azure.scheduled_event_approve:
    event_ids: "{{ planned.events | map(attribute='id') }}"
"""

RETURN = r"""
problems:
  description: What went wrong, in sentences. Empty where nothing did.
  type: list
  elements: str
  returned: when the service was read
endpoint:
  description: The endpoint that answered.
  type: str
  returned: success
approved:
  description: The ids of the events whose approval this host sent, or would send in check mode.
  type: list
  elements: str
  returned: always
already_started:
  description: The ids of events that were asked for and have started already.
  type: list
  elements: str
  returned: always
gone:
  description: The ids of events that were asked for and are no longer listed.
  type: list
  elements: str
  returned: always
refused:
  description: The events that were not approved, and why.
  type: list
  elements: dict
  returned: always
  contains:
    id:
      description: The event's id.
      type: str
    uncovered:
      description: The VMs that it names and that no host in O(drained) is known to be.
      type: list
      elements: str
    reason:
      description: The refusal in words.
      type: str
leaders:
  description: For each event that was approved in this run, the inventory host that sent the approval.
  type: dict
  returned: always
  sample:
    C7061BAC-AFDC-4513-B24B-AA5F13A16123: web-0
times:
  description: For each event that this host approved, when it did (C(approved_at)), in UTC.
  type: dict
  returned: always
  sample:
    C7061BAC-AFDC-4513-B24B-AA5F13A16123: {approved_at: "2026-11-16T00:20:35Z"}
left_to:
  description: For each event whose approval this host could not send, the hosts that can still do so.
  type: dict
  returned: when this host could not send and is not the last
events:
  description: The events that name this VM or were asked for, as last read, as in
    M(maintenance.azure.scheduled_event_info).
  type: list
  elements: dict
  returned: always
"""
