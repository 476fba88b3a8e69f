#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _report
short_description: "[INTERNAL] Write what is known about planned maintenance as a page and as data"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Combines the C(maintenance_status) of many hosts with the outcome of the last run, and writes it on the
    controller as one self-contained HTML page, and as a JSON file with the same content."
  - It is part of the playbook C(maintenance.azure.report). There is no reason to use it in a playbook of your own.
  - Nothing is read here. A host without C(maintenance_status) is shown as unread.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
    details: Writes nothing, and returns what would be in the report.
  diff_mode:
    support: none
options:
  hosts:
    description: The hosts that the report is about.
    type: list
    elements: str
    required: true
  folder:
    description: The folder on the controller. It is created if it is missing.
    type: path
    default: .
  name:
    description: Name of the two files, without C(.html) and C(.json).
    type: str
    default: maintenance-report
  title:
    description: The headline of the page.
    type: str
    default: Azure maintenance
  run:
    description:
      - What a run did, as the playbook C(maintenance.azure.drain_then_approve) leaves it in C(maintenance_run).
      - Wins over O(run_file).
    type: dict
  run_file:
    description: A JSON file on the controller with the same. A missing file is no error.
    type: path
  record:
    description: Whether to show the audit files of the hosts, which the playbook has read before.
    type: bool
    default: false
seealso:
  - module: maintenance.azure.scheduled_event_info
"""

EXAMPLES = r"""
- name: Write the report of all hosts of the play
  maintenance.azure._report:
    hosts: "{{ ansible_play_hosts_all }}"
    folder: /srv/www/maintenance
  run_once: true
"""

RETURN = r"""
html:
  description: Path of the page.
  type: str
  returned: success
json:
  description: Path of the JSON file.
  type: str
  returned: success
counts:
  description: How many hosts are in which state, how many events there are, and the next deadline.
  type: dict
  returned: success
lines:
  description: The report in a few lines.
  type: list
  elements: str
  returned: success
"""
