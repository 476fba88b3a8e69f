#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

DOCUMENTATION = r"""
module: drain_journal
short_description: Read or write the journal of a drain
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - The journal is a file on the host that tells what was drained, for which events, and what was found before, so that
    a later run, also one from another controller, can go on or undo it.
  - The roles P(maintenance.azure.drain#role) and P(maintenance.azure.restore#role) keep it. Others only need to read
    it, which is what the module does by default.
extends_documentation_fragment:
  - maintenance.azure._attributes
  - maintenance.azure._attributes.on_the_controller
  - maintenance.azure._fence
  - maintenance.azure._fence.service
  - maintenance.azure._fence.marks
attributes:
  platform:
    platforms: posix, windows
  check_mode:
    support: full
    details: Nothing is written; the result is what the journal would be.
  diff_mode:
    support: none
  idempotent:
    description: A second run changes nothing.
    support: partial
    details: Reading, O(state=drained) and O(state=close) are. The other states write who wrote, and when.
options:
  path:
    description: The journal. C(~) and variables in it are those of the host.
    type: str
    default: /var/lib/azure-maintenance/journal.json
  state:
    description:
      - V(read) reads.
      - V(begin) begins a drain, or goes on with one that was begun. Steps that were undone are taken out.
      - V(step) writes O(steps) down.
      - V(drained) says that all steps are done, after O(steps) are written down.
      - V(mark) says that the approval of O(marks) begins, so that whoever reads it knows that they may start at any
        moment. Where there is no journal, one with marks alone is made if O(fence) is given, and else none.
      - V(unmark) takes those of O(marks) back that this run has set, with the same C(at), and that were not there
        before. What a host of this run has sent, or may have sent, stays. A journal in which nothing is left is
        removed.
      - V(take_over) makes this run the owner of the journal.
      - V(forget) removes a journal with nothing drained.
      - V(restore) says that the steps are going to be undone. Where there is no journal, none is made.
      - V(close) keeps the journal as C(journal.last.json) beside it and removes it. It fails unless all steps are
        undone.
    type: str
    choices: [read, begin, step, drained, mark, unmark, restore, close, take_over, forget]
    default: read
  events:
    description: For O(state=begin), the events that are the reason, as in C(maintenance_status.events).
    type: list
    elements: dict
    default: []
  run_id:
    description:
      - Who writes. V(begin), V(restore) and V(take_over) make this run the owner of the journal, and other runs can't
        write any more. With O(fence), V(mark) does so too.
      - Nobody is refused where it is empty.
    type: str
    default: ""
  steps:
    description: For O(state=step) and O(state=drained), what became of steps.
    type: list
    elements: dict
    default: []
    suboptions:
      number:
        description: Number of the step in the journal.
        type: int
        required: true
      kind:
        description: Kind of the step. Needed the first time.
        type: str
      arguments:
        description: Its arguments, resolved.
        type: dict
      status:
        description: What became of it.
        type: str
        choices: [started, done, failed, undone]
        required: true
      before:
        description: What was found before the step. The first one that is written stays.
        type: dict
      error:
        description: Why it failed.
        type: str
"""

EXAMPLES = r"""
- name: Read what was drained here
  maintenance.azure.drain_journal:
  register: read

- name: Tell
  ansible.builtin.debug:
    msg: "{{ inventory_hostname }} is {{ read.journal.state if read.journal else 'not drained' }}"
"""

RETURN = r"""
journal:
  description: What the journal holds, or null where there is none.
  type: dict
  returned: success
  contains:
    state:
      description: V(draining), V(drained), V(restoring), or V(marked) where nothing was drained and an approval began.
      type: str
    worked_on_for:
      description: For how many seconds its owner is still at work on the host, unless it goes on. 0 where it is not.
      type: float
    marks:
      description: The approvals that have begun.
      type: list
      elements: dict
    events:
      description: The events that are the reason.
      type: list
      elements: dict
    run_id:
      description: The run that wrote last.
      type: str
    boot_id:
      description: The boot in which the host was drained.
      type: str
    started_at:
      description: When the drain began.
      type: str
    drained_at:
      description: When all steps were done, or null.
      type: str
    steps:
      description: The steps, in the order in which they were done.
      type: list
      elements: dict
boot_id:
  description: The boot that the host is in now, or null where the system does not tell.
  type: str
  returned: success
clock:
  description: The host's own time, C(boot_id) and C(seconds) since then, or by its clock where it does not tell these.
  type: dict
  returned: success
refused:
  description: Why the host did nothing, in one word, see O(fence).
  type: str
  returned: when the host refuses
now:
  description: The host's time in UTC.
  type: str
  returned: success
"""
