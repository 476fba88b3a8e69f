#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: scheduled_event_wait
short_description: Wait until planned maintenance of a VM has started or is over
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Reads the Scheduled Events of a VM, at a polite rate, until the events that are asked for have started or are over.
  - Approves nothing. An event that nobody approved starts by itself when it is due.
  - It also waits for a VM that reboots meanwhile, and for a service that does not answer. A bad reading is never taken
    for the end of an event.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
  - maintenance.azure._attributes.actiongroup_imds
  - maintenance.azure._attributes.info_module
  - maintenance.azure._service
  - maintenance.azure._service.wait
attributes:
  platform:
    platforms: posix, windows
notes:
  - In check mode the events are read once and nothing is waited for.
  - A VM that is to be taken away (C(Preempt), C(Terminate)) is not waited for once it can't be reached any more.
seealso:
  - module: maintenance.azure.scheduled_event_approve
"""

EXAMPLES = r"""
- name: Read what is planned
  maintenance.azure.scheduled_event_info:
  register: planned

- name: Wait until all of it is over
  maintenance.azure.scheduled_event_wait:
    event_ids: "{{ planned.events | map(attribute='id') }}"
"""

RETURN = r"""
problems:
  description: What went wrong, in sentences. Empty where nothing did.
  type: list
  elements: str
  returned: when the service was read
endpoint:
  description: The endpoint that answered.
  type: str
  returned: success
outcomes:
  description: For each event that was asked for, V(Scheduled), V(Started) or, where it is over, V(gone), as last read.
  type: dict
  returned: success
  sample:
    C7061BAC-AFDC-4513-B24B-AA5F13A16123: gone
times:
  description: For each event, when this task first saw it started (C(started_at)) and over (C(over_at)), in UTC.
  type: dict
  returned: success
  sample:
    C7061BAC-AFDC-4513-B24B-AA5F13A16123: {started_at: "2026-11-16T00:20:40Z", over_at: "2026-11-16T00:31:02Z"}
effects:
  description: >-
    For each event, the reading that first showed it as started or over: C(shown), V(Started) or V(gone), C(at), in UTC,
    and C(incarnation) of the document.
  type: dict
  returned: success
  sample:
    C7061BAC-AFDC-4513-B24B-AA5F13A16123: {shown: Started, at: "2026-11-16T00:20:40Z", incarnation: 7}
read_at:
  description: When the events were last read, in UTC.
  type: str
  returned: success
waited:
  description: Seconds that the task waited.
  type: int
  returned: success
"""
