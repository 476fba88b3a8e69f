#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _check
short_description: "[INTERNAL] Look at a fleet for the playbook check"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Looks at hosts and at the machines on which steps are done for them, and makes one report."
  - The metadata service is asked only with O(ask_service=true), as the first request ever switches Scheduled Events on
    for all VMs of a group. Then GET requests are sent, at most two of them in a second, and never anything else.
  - It is part of the playbook C(maintenance.azure.check). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._service
attributes:
  check_mode:
    support: full
    details: Writes no report.
  diff_mode:
    support: none
options:
  do:
    description:
      - V(host) looks at how a host is reached, at what an earlier run left there, and at what its drain steps need.
      - V(machine) looks whether a machine such as a load balancer can be reached, has what steps need there, and still
        keeps records of what was done for hosts.
      - V(lock_hosts) returns the lock hosts of the hosts of a play, as a run would choose them.
      - V(fleet) combines the results for all hosts.
    type: str
    choices: [host, machine, lock_hosts, fleet]
    required: true
  ask_service:
    description: With O(do=host), whether the metadata service may be asked.
    type: bool
    default: false
  ask_facts:
    description: >-
      With O(do=host), whether every fact of the service that a GET can show is looked at. Takes O(ask_service=true).
    type: bool
    default: false
  journal:
    description: With O(do=host), path of the journal on the host.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  records:
    description: With O(do=host), folder of the records on machines where steps are done for this host.
    type: str
    default: /var/lib/azure-maintenance/records
  steps_path:
    description: With O(do=host), directories on the controller with kinds of drain steps of your own.
    type: list
    elements: path
    default: []
  watch_program:
    description: With O(do=host), the program of a watcher.
    type: str
    default: /usr/local/lib/azure-maintenance/watch
  watch_status_file:
    description: With O(do=host), the status that a watcher writes.
    type: str
    default: /run/azure-maintenance/status.json
  entries:
    description: With O(do=machine), what O(do=host) returned as C(elsewhere) about this machine.
    type: list
    elements: dict
  own_records:
    description: With O(do=machine), folder of the records, where this machine has one of its own.
    type: str
  lock_hosts:
    description: With O(do=lock_hosts), the lock hosts, where the user has named them.
    type: list
    elements: str
  hosts:
    description: With O(do=fleet), the hosts, each with the result of O(do=host) as C(__check_host).
    type: list
    elements: str
  asked_service:
    description: With O(do=fleet), whether the metadata service was asked.
    type: bool
    default: false
  asked_facts:
    description: With O(do=fleet), whether the facts of the service were looked at.
    type: bool
    default: false
  machines:
    description: With O(do=fleet), the results of O(do=machine) in a loop.
    type: list
    elements: dict
    default: []
  leases:
    description: With O(do=fleet), the answers of the lock hosts, in a loop.
    type: list
    elements: dict
    default: []
  policy:
    description: >-
      With O(do=fleet), the policy. By default that of the playbook C(maintenance.azure.drain_then_approve).
    type: raw
  max_at_once:
    description: With O(do=fleet), what C(maintenance_max_at_once) is.
    type: raw
  min_in_service:
    description: With O(do=fleet), what C(maintenance_min_in_service) is.
    type: raw
  report:
    description: With O(do=fleet), path of a JSON file on the controller for the report.
    type: path
"""

EXAMPLES = r"""
- name: Look at each host
  maintenance.azure._check:
    do: host
  register: __check_host

- name: Combine the findings
  maintenance.azure._check:
    do: fleet
    hosts: "{{ ansible_play_hosts_all }}"
  run_once: true
"""

RETURN = r"""
findings:
  description: One for each point, with C(area), C(point), C(verdict), C(seen) and C(do).
  type: list
  elements: dict
  returned: success, with O(do=host) and O(do=machine)
status:
  description: The reading, as in M(maintenance.azure.scheduled_event_info), or null where there is none.
  type: dict
  returned: success, with O(do=host)
elsewhere:
  description: The other machines on which steps are done for this host, and what they need there.
  type: list
  elements: dict
  returned: success, with O(do=host)
nodes:
  description: The nodes of clusters that are drained for this host, where the controller can ask for them.
  type: list
  elements: dict
  returned: success, with O(do=host)
journal:
  description: State, run and events of the journal, or null where there is none.
  type: dict
  returned: success, with O(do=host)
journal_problem:
  description: Why the journal could not be read, or nothing.
  type: str
  returned: success, with O(do=host)
knows_journal:
  description: Whether the journal was looked at.
  type: bool
  returned: success, with O(do=host)
watcher:
  description: The files of a watcher on the host.
  type: dict
  returned: success, with O(do=host)
not_seen:
  description: Facts that could not be looked at, and why; null where they were not asked for.
  type: list
  elements: dict
  returned: success, with O(do=host)
keeps_records:
  description: Whether steps are recorded there.
  type: bool
  returned: success, with O(do=machine)
records:
  description: The records that are kept there, or null where they could not be looked at.
  type: list
  elements: dict
  returned: success, with O(do=machine)
calls:
  description: Each with a C(group) and one lock host, C(lock_host).
  type: list
  elements: dict
  returned: success, with O(do=lock_hosts)
verdict:
  description: The worst of all.
  type: str
  choices: [good, doubtful, bad]
  returned: success, with O(do=fleet)
summary:
  description: One sentence.
  type: str
  returned: success, with O(do=fleet)
lines:
  description: One line for each point.
  type: list
  elements: str
  returned: success, with O(do=fleet)
report:
  description: What is written to O(report).
  type: dict
  returned: success, with O(do=fleet)
"""
