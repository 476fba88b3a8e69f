# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of drain_step, for the host half and the controller half alike."""

from ansible_collections.maintenance.azure.plugins.module_utils._journal import STATUSES

# The controller half tells the host half what it needs of the plan, and no more, in the plan's place.
ORDER = "order"


def step_options():
    return dict(
        plan=dict(type="dict", required=True),
        position=dict(type="int", required=True),
        perform=dict(type="str", choices=["step", "look", "record", "act", "finish"], default="step"),
        status=dict(type="str", choices=list(STATUSES), default="started"),
        before=dict(type="dict"),
        error=dict(type="str"),
    )
