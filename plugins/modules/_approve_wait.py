#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _approve_wait
short_description: "[INTERNAL] Wait for events, and tell what came of their approval"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Waits for events as M(maintenance.azure.scheduled_event_wait) does, and puts together what that and
    the approvals before it came to on one host. Fails where one of them has failed."
  - It is a part of the role P(maintenance.azure.approve#role), whose variables it takes itself, as each argument
    would be a template that is compiled anew for every host. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._attributes.info_module
"""

EXAMPLES = r"""
- name: Wait until the event is over
  maintenance.azure._approve_wait:
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
effects:
  description: For each event that was waited for, the reading that first showed it as started or over.
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
  description: Events that were to be approved and were not. They are not waited for, and it is not over.
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
