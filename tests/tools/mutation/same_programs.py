# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks that break nothing, from same_programs.txt."""

from __future__ import annotations

import functools
from pathlib import Path


def same_program(file: str, change: str) -> str:
    """Why this break breaks nothing, or nothing."""
    return listed().get((file, change.strip()), "")


@functools.cache
def listed() -> dict[tuple[str, str], str]:
    """File and break -> why it breaks nothing."""
    found: dict[tuple[str, str], str] = {}
    file = why = ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if line.startswith("    "):
            found[file, text] = why
        elif line.startswith("  "):
            why = text
        else:
            file = text
    return found
