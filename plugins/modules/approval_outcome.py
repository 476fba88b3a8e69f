#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: approval_outcome
short_description: Wait for events, and tell what came of their approval
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Waits for events as M(maintenance.azure.scheduled_event_wait) does, and puts together what that and the approvals
    before it came to on one host. Fails where one of them has failed.
  - It is how the role P(maintenance.azure.approve#role) ends. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._attributes.info_module
  - maintenance.azure._service
  - maintenance.azure._service.wait
  - maintenance.azure._fence.roll
  - maintenance.azure._fence.marks
options:
  sent:
    description: The results of M(maintenance.azure.scheduled_event_approve).
    type: list
    elements: dict
    required: true
  unsent:
    description: Events that were to be approved and were not. They are not waited for, and it is not over.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Wait until it is over
  maintenance.azure.approval_outcome:
    event_ids: [A123BC45-1234-5678-AB90-ABCDEF123456]
    sent: "{{ sent.results }}"
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
unsent:
  description: As given.
  type: list
  elements: str
  returned: always
refused_by_host:
  description: Why the host sent nothing, in one word, or null.
  type: str
  returned: always
error:
  description: What went wrong, or nothing.
  type: str
  returned: always
"""
