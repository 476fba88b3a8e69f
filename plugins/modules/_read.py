#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _read
short_description: "[INTERNAL] Read hosts and records"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] With O(do=hosts), does in one task what M(maintenance.azure.scheduled_event_info) with C(affecting=any)
    and M(maintenance.azure.drain_journal) do in two. Of the events it returns those that name the VM; those of others,
    which every VM of the group shows, are kept once for the whole run. Options that are not given are taken from the
    variables C(maintenance_endpoint), C(maintenance_api_version) and C(drain_journal)."
  - With O(do=records), lists the records on a machine such as a load balancer of what was done for drained hosts.
  - It is part of the playbook C(maintenance.azure.drain_then_approve). There is no reason to use it in a playbook of
    your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
  - maintenance.azure._service
options:
  do:
    description:
      - V(hosts) reads the events, the journal and the clock of each host.
      - V(records) reads the records on a machine on which steps are done for other hosts.
    type: str
    choices: [hosts, records]
    required: true
  journal:
    description: With O(do=hosts), path of the journal on the host.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  this_host:
    description: >-
      With O(do=hosts), C(this_host) of an earlier reading of this run. Then only the events are requested, which saves
      one request.
    type: dict
  reads_in:
    description: >-
      With O(do=hosts), the name of the variable that lists the hosts to read, such as
      C(ansible_play_batch), or C(__check.hosts) of a result. Any other host is not read, and keeps its
      C(maintenance_status). By default every host is read.
    type: str
    default: ""
  of:
    description: >-
      With O(do=hosts), the host that this task is delegated to, if it is read for another one. Its variables are used,
      and the mark of the run is written there.
    type: str
  folder:
    description: With O(do=records), the folder with the records.
    type: path
"""

EXAMPLES = r"""
- name: Ask each host what is planned and what an earlier run left behind
  maintenance.azure._read:
    do: hosts
  register: maintenance_status
"""

RETURN = r"""
events:
  description: As in M(maintenance.azure.scheduled_event_info), whose other values are returned too.
  type: list
  elements: dict
  returned: success, with O(do=hosts)
journal:
  description: What the journal holds, or null where there is none. It is returned also where the reading failed.
  type: dict
  returned: always, with O(do=hosts)
run_mark:
  description: >-
    Whether the host has C(reflexes), and whether the mark of the run could be C(left) there.
  type: dict
  returned: always, with O(do=hosts)
journal_problem:
  description: Why the journal could not be read, or nothing.
  type: str
  returned: always, with O(do=hosts)
host_clock:
  description: >-
    The host's own time before it was asked. C(boot_id) is the boot it is in, C(seconds) those since then; where it does
    not tell a boot, by its clock.
  type: dict
  returned: always, with O(do=hosts)
heard_at:
  description: When the controller heard it, in seconds since 1970.
  type: float
  returned: success, with O(do=hosts)
other_events_in:
  description: The name under which the run keeps the whole document.
  type: str
  returned: success, with O(do=hosts)
document_sha256:
  description: By what the event document is known again.
  type: str
  returned: success, with O(do=hosts)
records:
  description: Each with its C(host), C(vm), C(types), C(events), C(run_id), C(at) and C(path).
  type: list
  elements: dict
  returned: success, with O(do=records)
unreadable:
  description: Files that are no records.
  type: list
  elements: str
  returned: success, with O(do=records)
"""
