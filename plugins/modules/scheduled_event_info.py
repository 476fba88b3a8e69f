#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: scheduled_event_info
short_description: Read what Azure is about to do to a VM
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Asks the metadata service of an Azure VM for its Scheduled Events, that is the reboots, freezes, redeployments,
    evictions and deletions that Azure has planned, and returns them in one fixed shape.
  - A reading that is not known to be good makes the task fail. An empty list of events always means that the service
    was read and has nothing planned.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._attributes.info_module
  - maintenance.azure._service
attributes:
  platform:
    platforms: posix, windows
options:
  affecting:
    description:
      - Which events to return.
      - V(this_host) returns the events that name this VM.
      - V(any) returns all that the service shows, as a VM sees the events of its whole availability set or
        placement group.
    type: str
    choices: [this_host, any]
    default: this_host
  event_types:
    description: Return events of these types only.
    type: list
    elements: str
    choices: [Freeze, Reboot, Redeploy, Preempt, Terminate]
  event_statuses:
    description: Return events in these states only.
    type: list
    elements: str
    choices: [Scheduled, Started]
  event_sources:
    description:
      - Return events from these sources only.
      - Needs an O(api_version) of 2019-08-01 or newer.
    type: list
    elements: str
    choices: [Platform, User]
  within:
    description:
      - Return only events that are due within this number of seconds.
      - An event that has started counts as due, and so does one without a date.
    type: int
  query:
    description:
      - A JMESPath expression over the returned structure. Its result is returned as RV(query_result).
      - Needs the Python package C(jmespath) on the controller.
    type: str
notes:
  - Reading is not neutral. The first request switches Scheduled Events on for the VM and its whole availability set or
    placement group. From then on a restart from the portal waits for an approval or for some 15 minutes. Azure
    switches the service off again after 24 hours without a request.
  - Nothing is installed on the host; it needs C(curl), or Python 3.6 or newer.
seealso:
  - module: maintenance.azure.scheduled_event_approve
"""

EXAMPLES = r"""
- name: See what is planned for this VM
  maintenance.azure.scheduled_event_info:
  register: maintenance

- name: Say so
  ansible.builtin.debug:
    msg: "{{ item.type }} in {{ item.seconds_left }} s: {{ item.description }}"
  loop: "{{ maintenance.events }}"
  loop_control:
    label: "{{ item.id }}"

- name: See what takes this VM down within five minutes
  maintenance.azure.scheduled_event_info:
    event_types: [Reboot, Redeploy, Preempt, Terminate]
    within: 300

- name: List the VMs of this availability set that are about to be touched
  maintenance.azure.scheduled_event_info:
    affecting: any
    query: "events[?status == 'Scheduled'].resources[]"
  register: neighbours
"""

RETURN = r"""
endpoint:
  description: The endpoint that answered.
  type: str
  returned: success
  sample: http://169.254.169.254
api_version:
  description: The version of the interface that was asked for, also where O(api_version) is V(auto).
  type: str
  returned: success
  sample: "2020-07-01"
this_host:
  description:
    - Who this VM is, from the instance metadata. Values that Azure leaves empty are V(none).
    - V(none) as a whole where O(vm_name) was given, so that the instance metadata was not asked.
  type: dict
  returned: success
  contains:
    vm_name:
      description: The name that events use for this VM. Not its hostname.
      type: str
      sample: web-3
    vm_id:
      description: The VM's unique id.
      type: str
    resource_id:
      description: The VM's Azure resource id.
      type: str
    resource_group:
      description: The VM's resource group.
      type: str
    subscription_id:
      description: The VM's subscription.
      type: str
    location:
      description: The VM's region.
      type: str
      sample: westeurope
    zone:
      description: The VM's availability zone.
      type: str
      sample: "1"
    update_domain:
      description: The VM's update domain.
      type: str
      sample: "0"
    fault_domain:
      description: The VM's fault domain.
      type: str
      sample: "1"
    scale_set:
      description: The scale set that the VM belongs to.
      type: str
    placement_group:
      description: The placement group that the VM belongs to.
      type: str
document_incarnation:
  description: Azure's number of this state of the events. It grows with each change and may start again.
  type: int
  returned: success
  sample: 7
events:
  description: The events, in Azure's order, after all filters.
  type: list
  elements: dict
  returned: success
  contains:
    id:
      description: Azure's id of the event, as it was sent.
      type: str
      sample: C7061BAC-AFDC-4513-B24B-AA5F13A16123
    type:
      description: V(Freeze), V(Reboot), V(Redeploy), V(Preempt), V(Terminate), or what Azure sent if that is new.
      type: str
      sample: Reboot
    status:
      description: V(Scheduled) or V(Started).
      type: str
      sample: Scheduled
    source:
      description: V(Platform), V(User), or V(none) if Azure sent none.
      type: str
      sample: Platform
    resource_type:
      description: The kind of resource that the event is about.
      type: str
      sample: VirtualMachine
    resources:
      description: The names of all VMs that the event touches.
      type: list
      elements: str
      sample: [web-0, web-3]
    not_before:
      description: UTC time before which the event does not start by itself. V(none) where there is none.
      type: str
      sample: "2026-11-16T00:35:05Z"
    seconds_left:
      description: Seconds until RV(events[].not_before), never below 0. V(none) where there is none.
      type: int
      sample: 873
    duration_seconds:
      description: How long Azure expects the VM to be interrupted. V(none) where Azure does not know.
      type: int
      sample: 5
    description:
      description: Azure's own words about the event.
      type: str
      sample: Host server is undergoing maintenance.
    affects_this_host:
      description: Whether the event names this VM. V(none) where this VM's name is not known.
      type: bool
    other_fields:
      description: Other fields that Azure sent, under Azure's own names, if there are any.
      type: dict
pending:
  description: Whether some event in RV(events) has not started yet.
  type: bool
  returned: success
read_at:
  description: When the events were read, by the host's clock, in UTC.
  type: str
  returned: success
  sample: "2026-11-16T00:20:32Z"
query_result:
  description: The result of O(query).
  type: raw
  returned: when O(query) was given
"""
