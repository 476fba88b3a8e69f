# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host that can't be asked means to those who wait for it."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_service import HostService
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service import (
    DocumentReading,
    RefusedByHost,
    Unanswered,
    Unreachable,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service_action import HostFailed


class Action:
    def __init__(self, error):
        self.error = error

    def ask_host(self, *_arguments, **_options):
        raise self.error

    def api_versions(self, _task_vars):
        return self

    def wanted(self, _options):
        return "2020-07-01"


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (AnsibleConnectionFailure("No route to host"), Unreachable),
        # What ansible-core before 2.19 says of a host whose power fails before `become` has asked its question.
        (AnsibleError("Timeout (12s) waiting for privilege escalation prompt: "), Unreachable),
        (HostFailed({"msg": "HTTP 500"}), Unanswered),
        (AnsibleActionFail("vm_name is empty"), AnsibleActionFail),
    ],
)
def test_why_there_is_no_answer(error, means):
    with pytest.raises(means):
        HostService(Action(error), {"timeout": 1, "vm_name": "web"}, {}).read()


def sent(result):
    """What it means for an approval that the host half has ended so."""
    status = {"document_incarnation": 1, "events": [], "endpoint": "http://169.254.169.254"}
    service = HostService(Action(HostFailed(result)), {"timeout": 1, "vm_name": "web"}, {})
    return service.approve(DocumentReading(status, "{}", "web"), ["E0"])


def test_a_host_that_refuses_an_approval_says_why_in_one_word():
    with pytest.raises(RefusedByHost, match="The command is too old") as refusal:
        sent({"msg": "The command is too old", "refused": "age", "kind": "refused"})
    assert refusal.value.word == "age"


def test_an_approval_that_the_service_did_not_answer_was_not_sent():
    with pytest.raises(Unanswered, match="HTTP 500"):
        sent({"msg": "HTTP 500", "kind": "status"})


@pytest.mark.parametrize("more", [{}, {"kind": "unexpected"}])
def test_a_host_half_that_did_not_live_to_tell_may_have_sent_the_approval(more):
    outcome = sent({"msg": "cut off", **more})
    assert (outcome.sent, outcome.unclear, outcome.problem) == (False, True, "cut off")
