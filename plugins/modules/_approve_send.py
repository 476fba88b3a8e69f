#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _approve_send
short_description: "[INTERNAL] Approve the events of a host"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Approves the events of a host as M(maintenance.azure.scheduled_event_approve) does: first those
    for which it was drained, then those that need no drain. What went wrong is told after the wait."
  - It is a part of the role P(maintenance.azure.approve#role), whose variables it takes itself, as each argument
    would be a template that is compiled anew for every host. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.actiongroup_imds
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Approve the event
  maintenance.azure._approve_send:
  register: __approve_sent
"""

RETURN = r"""
results:
  description: What M(maintenance.azure.scheduled_event_approve) returns, for each of the two.
  type: list
  elements: dict
  returned: success
"""
