#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _check_host
short_description: "[INTERNAL] What the playbook check looks at on each host"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Looks at how the host is reached, at what an earlier run left there, and at what its drain steps need."
  - The metadata service is asked only with O(ask_service=true), as the first request ever switches Scheduled Events on
    for all VMs of a group. Then GET requests are sent, at most two of them in a second, and never anything else.
  - It is part of the playbook C(maintenance.azure.check). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
  - maintenance.azure._service
options:
  ask_service:
    description: Whether the metadata service may be asked.
    type: bool
    default: false
  ask_facts:
    description: Whether every fact of the service that a GET can show is looked at. Takes O(ask_service=true).
    type: bool
    default: false
  journal:
    description: Path of the journal on the host.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  records:
    description: Folder of the records on machines where steps are done for this host.
    type: str
    default: /var/lib/azure-maintenance/records
  steps_path:
    description: Directories on the controller with kinds of drain steps of your own.
    type: list
    elements: path
    default: []
  watch_program:
    description: The program of a watcher.
    type: str
    default: /usr/local/lib/azure-maintenance/watch
  watch_status_file:
    description: The status that a watcher writes.
    type: str
    default: /run/azure-maintenance/status.json
"""

EXAMPLES = r"""
- name: Look at each host
  maintenance.azure._check_host:
  register: __check_host
"""

RETURN = r"""
findings:
  description: One for each point, with C(area), C(point), C(verdict), C(seen) and C(do).
  type: list
  elements: dict
  returned: success
status:
  description: The reading, as in M(maintenance.azure.scheduled_event_info), or null where there is none.
  type: dict
  returned: success
elsewhere:
  description: The other machines on which steps are done for this host, and what they need there.
  type: list
  elements: dict
  returned: success
nodes:
  description: The nodes of clusters that are drained for this host, where the controller can ask for them.
  type: list
  elements: dict
  returned: success
journal:
  description: State, run and events of the journal, or null where there is none.
  type: dict
  returned: success
journal_problem:
  description: Why the journal could not be read, or nothing.
  type: str
  returned: success
knows_journal:
  description: Whether the journal was looked at.
  type: bool
  returned: success
watcher:
  description: What a watcher left there.
  type: dict
  returned: success
not_seen:
  description: Facts that could not be looked at, and why; null where they were not asked for.
  type: list
  elements: dict
  returned: success
"""
