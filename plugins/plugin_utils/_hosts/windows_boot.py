# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a boot of a Windows host is called. Pure.

Windows has no boot id. It counts its boots; where the count is missing, a boot is known by when it was, counted back
from the controller's time by the uptime. The time of day on the host plays no part: it is set after a Freeze.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# So much may differ what one and the same boot is counted back to.
SECONDS_OF_DOUBT = 60
_UNCOUNTED = re.compile(r"up-since-(\d{1,12})")


def boot_name(count: int | None, uptime: float, now: float, texts: Iterable[str]) -> str:
    """`texts` are those in which earlier names of this boot may be: one that fits is used again."""
    if count is not None:
        return f"boot-{count}"
    since = round(now - uptime)
    earlier = {int(found) for text in texts for found in _UNCOUNTED.findall(text)}
    same = [moment for moment in earlier if since - moment <= SECONDS_OF_DOUBT]
    return f"up-since-{max(same, default=since)}"
