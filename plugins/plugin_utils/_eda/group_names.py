# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts share documents, from what watchers tell: the lock of a run. Pure.

A name stays for as long as it can, as a run may hold the lock. Where it errs two groups wait for each other, or two
runs meet, and the lease of the roll keeps them apart.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_AFTER_A_HOST = "group-of-"


def name_by_azure(identity: Mapping[str, t.Any] | None) -> str | None:
    """What Azure calls it, as far as the VM knows; single VMs and availability sets have no name there."""
    if not identity:
        return None
    for key in ("scale_set", "placement_group"):
        if name := without_odd_signs(str(identity.get(key) or "")):
            return name
    return None


def without_odd_signs(text: str) -> str:
    """What is left of it as a name: no template, no blank, no sign of a pattern of hosts."""
    return _NOT_IN_A_NAME.sub("-", text).strip("-._")


def name_after(host: str) -> str:
    return _AFTER_A_HOST + host


def is_after_a_host(name: str) -> bool:
    """Whether it was made up for want of better."""
    return name.startswith(_AFTER_A_HOST)
