#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _approve
short_description: "[INTERNAL] Approve the events of a host and wait for them"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] The role P(maintenance.azure.approve#role) is made of it. It takes the variables of the role itself, as
    each argument would be a template that is compiled anew for every host. There is no reason to use it in a playbook."
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._service
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  do:
    description:
      - V(mark) writes into the journal which events may start at any moment, as M(maintenance.azure.drain_journal)
        does, before anything is sent. It does nothing where the host is the only one that its events name, as the
        command that approves writes it then.
      - V(send) approves the events of a host as M(maintenance.azure.scheduled_event_approve) does, first those for
        which it was drained, then those that need no drain. It does not fail; what went wrong is returned after the
        wait.
      - V(wait) waits for events as M(maintenance.azure.scheduled_event_wait) does, and puts together the results of the
        wait and of the approvals. It fails where one of them has failed.
    type: str
    choices: [mark, send, wait]
    required: true
"""

EXAMPLES = r"""
- name: Write down that the approval begins
  maintenance.azure._approve:
    do: mark
  register: approve_mark

- name: Approve the event
  maintenance.azure._approve:
    do: send
  register: __approve_sent

- name: Wait until the event is over
  maintenance.azure._approve:
    do: wait
  register: approve_result
"""

RETURN = r"""
journal:
  description: What the journal then holds.
  type: dict
  returned: where it was written or read, with O(do=mark)
results:
  description: What M(maintenance.azure.scheduled_event_approve) returns, for each of the two.
  type: list
  elements: dict
  returned: success, with O(do=send)
approved:
  description: Ids of the events whose approval this host sent.
  type: list
  elements: str
  returned: always, with O(do=wait)
refused:
  description: Events that were not approved, and why.
  type: list
  elements: dict
  returned: always, with O(do=wait)
leaders:
  description: The host that sent the approval, by event.
  type: dict
  returned: always, with O(do=wait)
times:
  description: When each event was approved, started and over, as far as it was seen.
  type: dict
  returned: always, with O(do=wait)
effects:
  description: For each event that was waited for, the reading that first showed it as started or over.
  type: dict
  returned: always, with O(do=wait)
outcomes:
  description: What has become of the events that were waited for.
  type: dict
  returned: always, with O(do=wait)
over:
  description: Whether all that was waited for is over.
  type: bool
  returned: always, with O(do=wait)
unsent:
  description: Events that were to be approved and were not. They are not waited for, and it is not over.
  type: list
  elements: str
  returned: always, with O(do=wait)
refused_by_host:
  description: Why the host sent nothing, in one word, or null.
  type: str
  returned: always, with O(do=wait)
error:
  description: What went wrong, or nothing.
  type: str
  returned: always, with O(do=wait)
"""
