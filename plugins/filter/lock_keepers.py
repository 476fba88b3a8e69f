# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.lock_keepers. Its documentation is in lock_keepers.yml."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError
from ansible_collections.maintenance.azure.plugins.plugin_utils._hostvars import host_names
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.quorum import choose_keepers


def lock_keepers(hosts: t.Any, count: int | None = None) -> list[str]:
    try:
        return choose_keepers(host_names(hosts), count)
    except ValueError as error:
        raise AnsibleFilterError(f"maintenance.azure.lock_keepers: {error}") from None


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"lock_keepers": lock_keepers}
