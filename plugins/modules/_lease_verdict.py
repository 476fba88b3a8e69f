#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _lease_verdict
short_description: "[INTERNAL] Tell whether a majority of the lock hosts gave the lease"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Tells what the results of M(maintenance.azure.lease) on several lock hosts mean together."
  - The lease is held if more than half of the lock hosts gave it to this run, and none of the others says that somebody
    else has it. Where one lock host alone has said so for more than 90 seconds, it is outvoted.
  - It does not fail where the lease is not held. Look at RV(held).
  - It is part of the playbook C(maintenance.azure.awx_fan_out). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.info_module
options:
  do:
    description:
      - What the lock hosts were asked to do. With V(renew), only those count that had this run's lease all the time.
    type: str
    choices: [take, renew, release, read]
    required: true
  group:
    description: Whose lease it is, for the words of RV(msg).
    type: str
    default: ""
  lock_hosts:
    description: All hosts that keep the lease.
    type: list
    elements: str
    required: true
  results:
    description: The C(results) of M(maintenance.azure.lease) in a loop over the lock hosts.
    type: list
    elements: dict
    required: true
  refused_before:
    description: What the verdict before this one returned as RV(refusals).
    type: dict
    default: {}
seealso:
  - module: maintenance.azure.lease
"""

EXAMPLES = r"""
- name: Take the lease
  maintenance.azure.lease:
    do: take
    run_id: nightly
  loop: [web-1, web-2, web-3]
  delegate_to: "{{ item }}"
  run_once: true
  ignore_unreachable: true
  ignore_errors: true
  failed_when: false
  register: taken

- name: Go on with the lease only
  maintenance.azure._lease_verdict:
    do: take
    lock_hosts: [web-1, web-2, web-3]
    results: "{{ taken.results }}"
  run_once: true
  register: lease
  failed_when: not lease.held
"""

RETURN = r"""
held:
  description: This run has the lease.
  type: bool
  returned: success
group:
  description: Whose lease it is.
  type: str
  returned: success
holder:
  description: Who has the lease, in words. Empty if nobody has it.
  type: str
  returned: success
  sample: run nightly-7 of deploy@ctl1 (job 4711), since 2026-11-16T00:20:32Z, for 83 seconds more
unread_lock_hosts:
  description: The lock hosts that could not be reached, or could not do it.
  type: list
  elements: str
  returned: success
outvoted:
  description: The lock host that has refused the lease for more than 90 seconds, and no longer counts. Empty if none.
  type: str
  returned: success
refused_by:
  description: The lock hosts that stand in the way of a majority. The lease is then not held.
  type: list
  elements: str
  returned: success
refusals:
  description: For each of them since when it has refused, and when it last did, for the next verdict.
  type: dict
  returned: success
msg:
  description: The same in words, and what to do.
  type: str
  returned: success
notes:
  description:
    - All notes that some lock host has, with C(by) for the lock hosts that have it, and C(lacking) for those that would
      have it if it had been written there.
  type: list
  elements: dict
  returned: success
"""
