#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: _lease
short_description: "[INTERNAL] Choose lock hosts, and judge what they answered"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] A lease is held if more than half of the lock hosts gave it to this run, and none of the others says
    that somebody else has it. Where one lock host alone has said so for more than 90 seconds, it is outvoted."
  - It is part of the playbooks C(maintenance.azure.drain_then_approve) and C(maintenance.azure.awx_fan_out). There is
    no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
options:
  do:
    description:
      - V(ask) asks one lock host, as M(maintenance.azure.lease) does, in the name of the run whose task it is.
      - V(lock_hosts) returns the first three hosts in natural order, or those that the user wants, in an order that is
        the same for every run.
      - V(verdict) combines the results of M(maintenance.azure.lease) on several lock hosts. It does not fail where the
        lease is not held, see RV(held).
    type: str
    choices: [ask, lock_hosts, verdict]
    required: true
  hosts:
    description: With O(do=lock_hosts), the hosts that share the lease.
    type: list
    elements: str
  lock_hosts:
    description:
      - With O(do=lock_hosts), the hosts that keep the lease instead of the first ones of O(hosts).
      - With O(do=verdict), all hosts that keep the lease. Required then.
    type: list
    elements: str
  group:
    description: With O(do=ask) and O(do=verdict), whose lease it is.
    type: str
    default: ""
  results:
    description: With O(do=verdict), the C(results) of M(maintenance.azure.lease) in a loop over the lock hosts.
    type: list
    elements: dict
  refused_before:
    description: With O(do=verdict), what the verdict before this one returned as RV(refusals).
    type: dict
    default: {}
  asked:
    description:
      - With O(do=ask) and O(do=verdict), what the lock hosts are asked to do. With V(renew), only those count that had
        this run's lease all the time.
      - Without it, no lock host is asked.
    type: str
    choices: [take, renew, release, read]
  with_notes:
    description: With O(do=ask), the lock host gets the notes that the run has for it in its store.
    type: bool
    default: false
  path:
    description: With O(do=ask), as in M(maintenance.azure.lease).
    type: str
    default: /var/lib/azure-maintenance/run.lock
  seconds:
    description: With O(do=ask), as in M(maintenance.azure.lease).
    type: int
    default: 90
  note:
    description: With O(do=ask), as in M(maintenance.azure.lease).
    type: str
    default: ""
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
  maintenance.azure._lease:
    do: verdict
    asked: take
    lock_hosts: [web-1, web-2, web-3]
    results: "{{ taken.results }}"
  run_once: true
  register: lease
  failed_when: not lease.held
"""

RETURN = r"""
lock_hosts:
  description: The hosts.
  type: list
  elements: str
  returned: success, with O(do=lock_hosts)
  sample: [web-1, web-2, web-10]
held:
  description: This run has the lease. With O(do=ask) there are the other values of M(maintenance.azure.lease), too.
  type: bool
  returned: success, with O(do=ask) and O(do=verdict)
group:
  description: Whose lease it is.
  type: str
  returned: success, with O(do=verdict)
holder:
  description: Who has the lease, in words. Empty if nobody has it.
  type: str
  returned: success, with O(do=verdict)
  sample: run nightly-7 of deploy@ctl1 (job 4711), since 2026-11-16T00:20:32Z, for 83 seconds more
unread_lock_hosts:
  description: The lock hosts that could not be reached, or could not do it.
  type: list
  elements: str
  returned: success, with O(do=verdict)
outvoted:
  description: The lock host that has refused the lease for more than 90 seconds, and no longer counts. Empty if none.
  type: str
  returned: success, with O(do=verdict)
refused_by:
  description: The lock hosts that stand in the way of a majority. The lease is then not held.
  type: list
  elements: str
  returned: success, with O(do=verdict)
refusals:
  description: For each of them since when it has refused, and when it last did, for the next verdict.
  type: dict
  returned: success, with O(do=verdict)
msg:
  description: The same in words, and what to do.
  type: str
  returned: success, with O(do=verdict)
notes:
  description:
    - All notes that some lock host has, with C(by) for the lock hosts that have it, and C(lacking) for those that would
      have it if it had been written there.
  type: list
  elements: dict
  returned: success, with O(do=verdict)
"""
