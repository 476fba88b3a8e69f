# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which part of the host code finds out where the service is. A host that is told is not sent it."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.maintenance.azure.plugins.module_utils._service import dhcp_leases as _leases

DISCOVERY = _leases.__name__


def discovers(endpoints: Sequence[str]) -> bool:
    return list(endpoints) == ["auto"]
