# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user has set for a roll, by the names of the variables. Pure."""

from __future__ import annotations

import dataclasses
import re
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll.model import Settings

OVERLAPS = ("wait", "proceed")
ON_FAILED_DRAIN = ("restore", "leave")
SECONDS = (
    "drain_timeout",
    "drain_reserve",
    "approve_wait_timeout",
    "restore_timeout",
    "maintenance_healthy_timeout",
    "maintenance_read_timeout",
)
# A lease lasts 90 seconds: less 20 for a POST, less 30 for a freeze of the host.
LEASE_SECONDS = 90
SHARE_FOR_THE_HOST = 40 / 90


@dataclasses.dataclass(frozen=True)
class Wishes:
    policy: t.Any = None
    uncovered: str = "refuse"
    max_at_once: t.Any = None
    on_failed_drain: str = "restore"
    continue_after_failure: bool = False
    plan_only: bool = False
    # How long a run waits for what is under way elsewhere, and for hosts that come back to service.
    patience: float = 1800.0
    healthy_timeout: float = 600.0
    # A host does nothing that was decided from an older reading.
    oldest_reading: float = 40.0
    # One that acts by itself holds still for so long after a reading; its mark counts for 90 seconds.
    reading_holds: float = 80.0
    settings: Settings = dataclasses.field(default_factory=Settings)


def read_wishes(variables: Mapping[str, t.Any]) -> Wishes:
    """Raises ValueError with a sentence for the user."""
    # What was left out: in a survey of AWX a text, and before ansible-core 2.19 none is one, too.
    given = {name: value for name, value in variables.items() if value not in (None, "", "None")}
    numbers = {name: _seconds(name, given[name]) for name in SECONDS if given.get(name) is not None}
    overlap = str(given.get("maintenance_overlap") or "wait")
    if overlap not in OVERLAPS:
        raise ValueError(f"maintenance_overlap must be wait or proceed, not {overlap!r}")
    on_failed_drain = str(given.get("maintenance_on_failed_drain") or "restore")
    if on_failed_drain not in ON_FAILED_DRAIN:
        raise ValueError(f"maintenance_on_failed_drain must be restore or leave, not {on_failed_drain!r}")
    uncovered = str(given.get("approve_uncovered") or "refuse")
    least = given.get("maintenance_min_in_service")
    if least is not None and not re.fullmatch(r"\d+\s*%?", str(least).strip()):
        raise ValueError(f"maintenance_min_in_service must be a number of hosts or a share such as 50%, not {least!r}")
    go_on = _flag("maintenance_continue_after_failure", given.get("maintenance_continue_after_failure"))
    lease = float(given.get("lease_seconds") or LEASE_SECONDS)
    return Wishes(
        policy=given.get("policy"),
        uncovered=uncovered,
        max_at_once=given.get("maintenance_max_at_once"),
        on_failed_drain=on_failed_drain,
        continue_after_failure=go_on,
        plan_only=_flag("plan_only", given.get("plan_only")),
        patience=numbers.get("approve_wait_timeout", 1800.0),
        healthy_timeout=numbers.get("maintenance_healthy_timeout", 600.0),
        oldest_reading=lease * SHARE_FOR_THE_HOST,
        reading_holds=float(given.get("reading_holds", Wishes.reading_holds)),
        settings=Settings(
            overlap=overlap,
            min_in_service=None if least is None else str(least).strip(),
            drain_timeout=numbers.get("drain_timeout", 600.0),
            reserve=numbers.get("drain_reserve", 5.0),
            continue_after_failure=go_on,
            uncovered=uncovered,
        ),
    )


def _seconds(name: str, value: t.Any) -> float:
    if isinstance(value, bool) or not re.fullmatch(r"[1-9][0-9]*|0", str(value).strip()):
        raise ValueError(f"{name} must be a whole number of seconds, not {value!r}")
    if str(value).strip() == "0" and name != "drain_reserve":
        raise ValueError(f"{name} must be a whole number of seconds, 1 or more")
    return float(value)


def _flag(name: str, value: t.Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    if str(value).strip().lower() in ("true", "yes", "on", "1"):
        return True
    if str(value).strip().lower() in ("false", "no", "off", "0", ""):
        return False
    raise ValueError(f"{name} must be true or false, not {value!r}")
