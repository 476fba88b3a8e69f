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
attributes:
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
    description: The journal.
    type: path
    default: /var/lib/azure-maintenance/journal.json
  state:
    description:
      - V(read) reads.
      - V(begin) begins a drain, or goes on with one that was begun. Steps that were undone are taken out.
      - V(step) writes O(steps) down.
      - V(drained) says that all steps are done, after O(steps) are written down.
      - V(restore) says that the steps are going to be undone. Where there is no journal, none is made.
      - V(close) keeps the journal as C(journal.last.json) beside it and removes it. It fails unless all steps are
        undone.
    type: str
    choices: [read, begin, step, drained, restore, close]
    default: read
  events:
    description: For O(state=begin), the events that are the reason, as in C(maintenance_status.events).
    type: list
    elements: dict
    default: []
  run_id:
    description:
      - Who writes. V(begin) and V(restore) make this run the owner of the journal, and other runs can't write any more.
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
seealso:
  - plugin: maintenance.azure.drain
    plugin_type: role
    description: The role that drains a host.
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
      description: V(draining), V(drained) or V(restoring).
      type: str
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
now:
  description: The host's time in UTC.
  type: str
  returned: success
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.maintenance.azure.plugins.module_utils._journal import (
    DEFAULT_PATH,
    STATUSES,
    Journal,
    JournalError,
    all_drained,
    begun,
    boot_id,
    recorded,
    utc_now,
)


def main():
    step = dict(
        number=dict(type="int", required=True),
        kind=dict(type="str"),
        arguments=dict(type="dict"),
        status=dict(type="str", required=True, choices=list(STATUSES)),
        before=dict(type="dict"),
        error=dict(type="str"),
    )
    module = AnsibleModule(
        argument_spec=dict(
            path=dict(type="path", default=DEFAULT_PATH),
            state=dict(type="str", default="read", choices=["read", "begin", "step", "drained", "restore", "close"]),
            events=dict(type="list", elements="dict", default=[]),
            run_id=dict(type="str", default=""),
            steps=dict(type="list", elements="dict", default=[], options=step),
        ),
        supports_check_mode=True,
    )
    journal = Journal(module.params["path"], predict_only=module.check_mode)
    try:
        before = journal.read()
        after = written(journal, module.params, before)
    except JournalError as error:
        module.fail_json(msg=str(error))
    is_open = after is not None and module.params["state"] != "close"
    changed = after != before if is_open else before is not None and module.params["state"] == "close"
    module.exit_json(changed=changed, journal=after if is_open else None, boot_id=boot_id(), now=utc_now())


def written(journal, options, before):
    state, run_id, now = options["state"], options["run_id"], utc_now()
    if state == "read" or (before is None and state in ("restore", "close")):
        return before
    if state == "close":
        return journal.close(run_id)
    if state == "begin":
        return journal.change(lambda data: begun(data, options["events"], run_id, boot_id(), now))
    if state == "restore":
        return journal.change(lambda data: data and dict(data, state="restoring", run_id=run_id))

    def told(data):
        if data is None:
            raise JournalError("There is no journal %s that steps could be written to" % journal.path)
        data = recorded(data, options["steps"], now)
        return all_drained(data, now) if state == "drained" else data

    return journal.change(told, run_id)


if __name__ == "__main__":
    main()
