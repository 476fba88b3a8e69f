#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _watch
short_description: "[INTERNAL] Install the watcher"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] It is part of the role C(maintenance.azure.watch). There is no reason to use it in a playbook of your
    own."
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details: The program is shown as C(ansible.builtin.copy) shows a file.
options:
  do:
    description:
      - V(settings) checks the variables of the role and makes the content of the watcher's configuration.
      - V(program) copies all that the watcher runs to the host, as one file.
    type: str
    choices: [settings, program]
    required: true
  name:
    description: With O(do=settings), the name of the host in notices.
    type: str
  endpoint:
    description: With O(do=settings), base URL of the metadata service.
    type: str
    default: http://169.254.169.254
  api_version:
    description: With O(do=settings), the api-version to request.
    type: str
    default: "2020-07-01"
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
  vm_name:
    description: With O(do=settings), the host's name in Azure, if the service is not to be asked for it.
    type: str
  interval:
    description: With O(do=settings), seconds between readings.
    type: float
    default: 1
  heartbeat:
    description: With O(do=settings), seconds between heartbeats.
    type: float
    default: 30
  status_file:
    description: With O(do=settings), path of the status file.
    type: str
    default: /run/azure-maintenance/status.json
  journal:
    description: With O(do=settings), path of the journal of drains.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  notify:
    description: With O(do=settings), the receivers of notices, each with C(url), C(secret), C(ca_file) and C(headers).
    type: list
    elements: dict
    default: []
  metrics:
    description: With O(do=settings), whether metrics are written beside the status.
    type: bool
    default: false
  reflex:
    description: With O(do=settings), the rules of the reflexes.
    type: list
    elements: dict
    default: []
  reflex_latest:
    description: >-
      With O(do=settings), seconds before an event at which a reflex drains although another event comes first.
    type: float
    default: 60
  steps_path:
    description: With O(do=settings), directories with kinds of steps of the user's own.
    type: list
    elements: str
    default: []
  timeout:
    description: With O(do=settings), seconds for a step.
    type: int
    default: 600
  audit_file:
    description: With O(do=settings), path of the audit file.
    type: str
  manage_service:
    description: With O(do=settings), whether systemd starts the reflexes; otherwise the watcher does.
    type: bool
    default: true
  reflex_config:
    description: With O(do=settings), path of the configuration of the reflexes.
    type: str
  dest:
    description: With O(do=program), path of the program on the host.
    type: path
"""

EXAMPLES = r"""
- name: Check the variables, as the role does
  maintenance.azure._watch:
    do: settings
    name: "{{ inventory_hostname }}"
    notify: []

- name: Copy the program, as the role does
  maintenance.azure._watch:
    do: program
    dest: /usr/local/lib/azure-maintenance/program.json
"""

RETURN = r"""
content:
  description: The content of the configuration.
  type: str
  returned: success, with O(do=settings)
reflex_content:
  description: The content of the configuration of the reflexes; empty where no rule does more than tell.
  type: str
  returned: success, with O(do=settings)
has_secrets:
  description: Whether there are secrets in it.
  type: bool
  returned: success, with O(do=settings)
addresses:
  description: The addresses that the watcher speaks to, where all of them are literal.
  type: list
  elements: str
  returned: success, with O(do=settings)
dest:
  description: Where it is.
  type: str
  returned: success, with O(do=program)
"""
