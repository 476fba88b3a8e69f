#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: run_lock
short_description: Take, renew or give back a lock that is kept on a managed host
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Keeps two runs from working at once, also runs from different controllers, with a lock in a file of a managed host.
  - The lock has an owner, which is one run of C(ansible-playbook), and an end. It has to be renewed before its end.
  - A lock whose owner is a process of the same controller that has died is taken over at once, any other after its end.
  - When a lock ends is decided by the clock of the managed host alone.
  - One host is one keeper. To have a lock that survives the loss of a host, delegate this task to each of a few hosts
    and have P(maintenance.azure.lock_verdict#filter) tell whether a majority of them holds it.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
    details: Takes nothing and gives nothing back, and tells whether it could.
  diff_mode:
    support: none
options:
  run_id:
    description:
      - A name for this run, for people. Two runs that have the same name are still two.
    type: str
    required: true
  state:
    description:
      - V(present) takes the lock, or renews it if this run has it.
      - V(absent) gives it back if this run has it. A lock of somebody else stays as it is, and is no error.
    type: str
    choices: [present, absent]
    default: present
  path:
    description:
      - The lock file on the managed host. Its folder is made if it is missing.
      - A file of the same name and C(.guard) at its end is kept next to it.
    type: str
    default: /var/lib/azure-maintenance/run.lock
  expires:
    description:
      - Seconds after which the lock ends by itself, from when it was taken or last renewed.
    type: int
    default: 300
  wait:
    description:
      - Seconds to wait for a lock that somebody else holds. V(0) fails at once.
    type: int
    default: 0
  owner:
    description: More about this run for people, such as the number of its job.
    type: str
    default: ""
notes:
  - A controller is the same if it runs the same boot of the same kernel, and has the same process ids. Two containers
    on one machine are two controllers.
  - When a controller dies, what it had begun on the hosts may go on for the length of one task.
  - Where the controller has no C(/proc), such as on macOS, a lock of a dead owner is only taken over after its end.
seealso:
  - plugin: maintenance.azure.lock_verdict
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Take the lock, or renew it
  maintenance.azure.run_lock:
    run_id: "{{ maintenance_run_id }}"
    owner: "job {{ awx_job_id | default('by hand') }}"
    wait: 600
  delegate_to: bastion
  run_once: true

- name: Give it back
  maintenance.azure.run_lock:
    run_id: "{{ maintenance_run_id }}"
    state: absent
  delegate_to: bastion
  run_once: true
"""

RETURN = r"""
changed:
  description: The lock was newly taken or was given back. Renewing it is no change.
  type: bool
  returned: always
good_until:
  description:
    - Until when the lock is surely held, in UTC and by the clock of the controller.
  type: str
  returned: when O(state=present) and the lock is held
held:
  description: This run has the lock now. In check mode, that it would have it.
  type: bool
  returned: always
holder:
  description: Who has the lock, with times by the clock of the managed host. V(null) if nobody has it.
  type: dict
  returned: always
  sample:
    run_id: nightly-7
    user: deploy
    host: ctl1.example.com
    note: job 4711
    pid: 3012
    process_start: "5187"
    controller: 9d5b3c1e8a7f46021f7c6a90d3e5b284
    taken_at: "2026-11-16T00:20:32Z"
    expires_at: "2026-11-16T00:25:32Z"
    seconds_left: 300
renewed:
  description: The lock was this run's already, and nobody else had it here since.
  type: bool
  returned: always
took_over_from:
  description: Who had the lock before and did not give it back, and whether it had V(expired) or the owner was V(dead).
  type: dict
  returned: always
waited:
  description: Seconds that the task waited.
  type: int
  returned: always
"""

# The work is done by plugins/action/run_lock.py, and on the keeper by lock_file.py.
