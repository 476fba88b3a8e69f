#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: approval_report
short_description: What the role approve has come to
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Puts together what the approvals and the wait of one host returned, and fails where one of them has failed.
  - It is how the role P(maintenance.azure.approve#role) ends. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  sent:
    description: The results of M(maintenance.azure.scheduled_event_approve).
    type: list
    elements: dict
    required: true
  waited:
    description: The result of M(maintenance.azure.scheduled_event_wait), which may have been skipped.
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Tell what came of it
  maintenance.azure.approval_report:
    sent: "{{ sent.results }}"
    waited: "{{ waited }}"
  register: approve_result
"""

RETURN = r"""
approved:
  description: Ids of the events whose approval this host sent.
  type: list
  elements: str
  returned: always
refused:
  description: Events that were not approved, and why.
  type: list
  elements: dict
  returned: always
leaders:
  description: The host that sent the approval, by event.
  type: dict
  returned: always
times:
  description: When each event was approved, started and over, as far as it was seen.
  type: dict
  returned: always
outcomes:
  description: What has become of the events that were waited for.
  type: dict
  returned: always
over:
  description: Whether all that was waited for is over.
  type: bool
  returned: always
error:
  description: What went wrong, or nothing.
  type: str
  returned: always
"""
