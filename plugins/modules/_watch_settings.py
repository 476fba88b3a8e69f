#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _watch_settings
short_description: "[INTERNAL] Check the variables of the role watch"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Makes the content of the watcher's configuration, on the controller."
  - It is part of the role C(maintenance.azure.watch). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  name:
    description: What the host is called in notices.
    type: str
    required: true
  endpoint:
    description: Base URL of the metadata service.
    type: str
    default: http://169.254.169.254
  api_version:
    description: The api-version that is asked for.
    type: str
    default: "2020-07-01"
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
  vm_name:
    description: The host's name in Azure, where the service is not to be asked for it.
    type: str
  interval:
    description: Seconds between readings.
    type: float
    default: 1
  heartbeat:
    description: Seconds between signs of life.
    type: float
    default: 30
  status_file:
    description: Where the status is kept.
    type: str
    default: /run/azure-maintenance/status.json
  journal:
    description: Path of the journal of drains.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  notify:
    description: Who is told, each with C(url), C(secret), C(ca_file) and C(headers).
    type: list
    elements: dict
    default: []
  metrics:
    description: Whether metrics are written beside the status.
    type: bool
    default: false
  reflex:
    description: The rules of the reflexes.
    type: list
    elements: dict
    default: []
  reflex_latest:
    description: Seconds before an event at which a reflex drains although another event comes first.
    type: float
    default: 60
  steps_path:
    description: Directories with kinds of steps of the user's own.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds for a step.
    type: int
    default: 600
  audit_file:
    description: Where the record is written.
    type: str
  manage_service:
    description: Whether systemd starts the reflexes; else the watcher does.
    type: bool
    default: true
  reflex_config:
    description: Path of the configuration of the reflexes.
    type: str
"""

EXAMPLES = r"""
- name: Check, as the role does
  maintenance.azure._watch_settings:
    name: "{{ inventory_hostname }}"
    notify: []
"""

RETURN = r"""
content:
  description: The content of the configuration.
  type: str
  returned: success
reflex_content:
  description: The content of the configuration of the reflexes; empty where no rule does more than tell.
  type: str
  returned: success
has_secrets:
  description: Whether there are secrets in it.
  type: bool
  returned: success
addresses:
  description: The addresses that the watcher speaks to, where all of them are literal.
  type: list
  elements: str
  returned: success
"""
