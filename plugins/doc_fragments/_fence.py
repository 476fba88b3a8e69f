# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # What a run knew when it decided.
    DOCUMENTATION = r"""
options:
  fence:
    description:
      - What the run knew of this host when it decided. The host compares it with its own clock and its own journal, and
        does nothing where that is no longer so. The task then fails, and says why in one word in RV(refused).
      - It is how the playbook C(maintenance.azure.drain_then_approve) keeps several runs apart. Without it nothing is
        compared.
      - V(age) is another boot, or more time than O(fence.at_most). V(owner) is a journal of another run than
        O(fence.owner) and this one. V(worked_on) is another run that is at work there. V(gone) is an event of
        O(fence.events) that is no longer shown, or not as it has to be. V(not_drained) is a journal that is missing,
        unfinished or of a return that has begun. V(unread) is a service that does not tell. V(drained) is a journal
        that can't be forgotten.
    type: dict
    suboptions:
      boot_id:
        description: The boot in which the host was read, as C(clock) of M(maintenance.azure.drain_journal) has it.
        type: str
      seconds:
        description: The host's own time at that moment.
        type: float
      at_most:
        description: How many seconds may have passed since.
        type: float
        default: 40
      owner:
        description: The run whose the journal was, or nothing where there was none.
        type: str
      events:
        description: Events that the host must still be shown.
        type: list
        elements: str
        default: []
      scheduled:
        description: Whether these events must not have started.
        type: bool
        default: false
      drained:
        description: Whether the host must be drained, in this boot and with all steps.
        type: bool
        default: false
      may_start:
        description:
          - For an approval, events that may have started by now, as they had before, or as the same wave starts them.
            Then only what matters is compared right before it is sent, that the event is as it was judged and that
            nothing else has started, and not the whole document.
        type: list
        elements: str
      ask:
        description: How the host asks for its events. It is filled in.
        type: dict
"""

    # Where the host asks.
    SERVICE = r"""
options:
  endpoint:
    description: For the events of O(fence), base URL of the metadata service, or V(auto).
    type: str
    default: http://169.254.169.254
  api_version:
    description: For the events of O(fence), the version of the Scheduled Events interface.
    type: str
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
    default: "2020-07-01"
"""

    MARKS = r"""
options:
  marks:
    description: The approvals that begin.
    type: list
    elements: dict
    default: []
    suboptions:
      event:
        description: Id of the event.
        type: str
        required: true
      hosts:
        description: The hosts that it names.
        type: list
        elements: str
        required: true
      at:
        description: When, by the controller's clock, in seconds since 1970.
        type: float
        required: true
      takes_down:
        description: Whether the event takes the hosts down.
        type: bool
        default: true
      vanishing:
        description: Whether the event takes the hosts away for good.
        type: bool
        default: false
"""

    # The journal that says who is at work.
    RUN = r"""
options:
  journal:
    description:
      - Path of the journal on the host. With it and O(run_id), each reading says to other runs that this one is still
        there, if it has said so before.
    type: str
  run_id:
    description: Name of this run, as the journal has it.
    type: str
    default: ""
"""
