#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: lease
short_description: Take, renew, release or read a lease that is kept on a managed host
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Keeps two runs from beginning something at once, also runs from different controllers, with a lease in a file of a
    managed host.
  - The lease has an owner, which is one run of C(ansible-playbook), and lasts for some seconds. It is renewed only
    before it lapses. After that it is a new lease, even for the same run, as another run may have had it meanwhile.
  - Beside the lease a run of C(maintenance.azure.drain_then_approve) notes what it is about to do to which host. These
    notes stay when the lease is released.
  - A lease whose owner is a process of the same controller that has died is taken over at once, any other when it has
    lapsed.
  - The managed host counts by its own uptime. Its clock and that of the controller do not matter.
  - To have a lease that survives the loss of a host, delegate this task to each of a few lock hosts. A run has the
    lease if more than half of them say so.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
attributes:
  platform:
    platforms: posix, windows
  check_mode:
    support: full
    details: Takes, writes and releases nothing, and returns whether it could.
  diff_mode:
    support: none
options:
  do:
    description:
      - V(take) takes the lease if nobody has it, if it has lapsed, if its owner is dead, or if it is this run's.
      - V(renew) extends a lease of this run that has not lapsed. With any other, neither lease nor notes are written.
      - V(release) releases it if this run has it. A lease of another run is left unchanged, and is no error.
      - V(read) changes nothing and returns the holder and the notes.
    type: str
    choices: [take, renew, release, read]
    required: true
  run_id:
    description:
      - A name for this run, for people. Two runs that have the same name are still two.
      - Required unless O(do=read).
    type: str
  note:
    description: More about this run for people, such as the number of its job.
    type: str
    default: ""
  path:
    description:
      - The file on the managed host. Its folder is created if it is missing.
    type: str
    default: /var/lib/azure-maintenance/run.lock
  group:
    description:
      - Whose lease it is. Hosts of different delivery groups have different leases.
      - The lease of a group with a name is in a file of its own beside O(path).
    type: str
    default: ""
  seconds:
    description: How long the lease lasts from now, with O(do=take) and O(do=renew).
    type: int
    default: 90
notes:
  - The task does not fail if another run has the lease. Look at RV(held).
  - A controller is the same if it runs the same boot of the same kernel, and has the same process ids. Two containers
    on one machine are two controllers.
  - Where the controller has no C(/proc), such as on macOS, a lease of a dead owner is only taken over when it has
    lapsed.
  - A lock host without a file grants nothing in its first 100 seconds after a boot.
  - A lease from before a reboot of the lock host keeps others out until it has been up for as long as it lasts.
"""

EXAMPLES = r"""
- name: Take the lease
  maintenance.azure.lease:
    do: take
    run_id: "{{ maintenance_run_id }}"
    note: "job {{ awx_job_id | default('by hand') }}"
  delegate_to: bastion
  run_once: true
  register: lease
  failed_when: not lease.held

- name: Keep it
  maintenance.azure.lease:
    do: renew
    run_id: "{{ maintenance_run_id }}"
  delegate_to: bastion
  run_once: true
  register: lease
  failed_when: not lease.held

- name: Give it back
  maintenance.azure.lease:
    do: release
    run_id: "{{ maintenance_run_id }}"
  delegate_to: bastion
  run_once: true
"""

RETURN = r"""
changed:
  description: The lease was newly taken, or was given back. Renewing it is no change.
  type: bool
  returned: always
held:
  description: This run has the lease on this lock host now. In check mode, that it would have it.
  type: bool
  returned: success
holder:
  description: Who has the lease. V(null) if nobody has it, or if it has lapsed.
  type: dict
  returned: success
  sample:
    run_id: nightly-7
    user: deploy
    host: ctl1.example.com
    note: job 4711
    pid: 3012
    process_start: "5187"
    controller: 9d5b3c1e8a7f46021f7c6a90d3e5b284
    taken_at: "2026-11-16T00:20:32Z"
    seconds_left: 90
notes:
  description: All notes of runs that the lock host has now.
  type: list
  elements: dict
  returned: success
  sample:
    - host: web-3
      events: [C7061BAC-AFDC-4513-B24B-AA5F13A16123]
      type: Reboot
      run: nightly-7
      at: 1794787232
      mark:
remembers:
  description:
    - How many seconds the notes reach back. What was written here since then is still here, unless somebody removed it.
  type: int
  returned: success
  sample: 86400
renewed:
  description: The lease was this run's and still ran, so nobody else had it here since.
  type: bool
  returned: success
too_new_for:
  description:
    - How many seconds more this lock host grants nothing, as it has booted less than 100 seconds ago and has no file.
      It may have lost its disk, and with it a lease that still runs. V(null) otherwise.
  type: int
  returned: success
took_over_from:
  description:
    - Who had the lease before and did not give it back, and whether it had V(expired) or the owner was V(dead).
  type: dict
  returned: success
"""
