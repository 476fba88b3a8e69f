# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host half of the playbook check: look at this machine, or ask its metadata service. It changes nothing.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._check import look as _look
from ansible_collections.maintenance.azure.plugins.module_utils._check import questions as _questions


def carried_out(request, check_mode):
    """The result of the module _host_check for its options. Check mode has nothing to leave out."""
    result = {"changed": False}
    if request.get("look") is not None:
        result["look"] = _look.looked_at(request["look"])
    if request.get("ask") is not None:
        result["ask"] = _questions.asked(request["ask"])
    return result
