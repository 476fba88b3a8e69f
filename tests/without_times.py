# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A result of a module without what differs from one run to the next, so that two of them can be compared."""

from __future__ import annotations

import re
from typing import Any

OF_THE_MOMENT = ("read_at", "times", "waited", "invocation")
OF_THE_MOMENT_IN_EVENTS = ("seconds_left", "not_before", "at")


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    return {key: _without_times(key, value) for key, value in result.items() if key not in OF_THE_MOMENT}


def _without_times(key: str, value: Any) -> Any:
    if key == "events":
        return [_event(event) for event in value]
    if key == "effects":
        return {event: _event(effect) for event, effect in value.items()}
    if key == "msg":
        # How many tries there is time for depends on how long one takes.
        return re.sub(r" \(last of \d+ tries in \d+ s\)", "", value)
    return value


def _event(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in OF_THE_MOMENT_IN_EVENTS}
