# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.lock_verdict. Its documentation is in lock_verdict.yml."""

from __future__ import annotations

import time
import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.quorum import verdict


def lock_verdict(results: t.Any, unbroken: bool = False) -> dict[str, t.Any]:
    try:
        return verdict(results, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), unbroken)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise AnsibleFilterError(
            f"maintenance.azure.lock_verdict needs the results of maintenance.azure.run_lock in a loop: {error}"
        ) from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"lock_verdict": lock_verdict}
