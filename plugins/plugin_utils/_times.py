# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as texts, and back: the controller's one door to what `module_utils/_azure/documents.py` knows. Pure."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable

from ansible_collections.maintenance.azure.plugins.module_utils._azure import documents as _documents

iso_time: Callable[[float], str] = _documents.iso


def seconds_of(text: t.Any) -> float | None:
    """Seconds since 1970, from any of the forms in which Azure writes times and from ours; None for all else."""
    return _parsed(text) if isinstance(text, str) else None


# In the readings of a fleet the same few times come thousands of times.
_parsed: Callable[[str], float | None] = functools.lru_cache(maxsize=4096)(_documents.timestamp)
