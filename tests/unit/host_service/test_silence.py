# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host that can't be asked means to those who wait for it."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.host_service import HostService
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service import Unanswered, Unreachable
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.service_action import HostFailed


class Action:
    def __init__(self, error):
        self.error = error

    def ask_host(self, *_arguments, **_options):
        raise self.error


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
