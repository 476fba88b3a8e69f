# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words for a terminal: times as people read them, and lines that fit."""

from __future__ import annotations

import textwrap

# Ansible puts blanks, quotes and a comma around a line that a task shows: together they fit into 80 columns.
LINE_WIDTH = 69


def clock(seconds: float) -> str:
    """Minutes and seconds, as people read a countdown; longer times in coarser words."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes_left = divmod(minutes, 60)
    days, hours_left = divmod(hours, 24)
    if days:
        return f"{days} d {hours_left} h"
    return f"{hours} h {minutes_left} min" if hours else f"{minutes}:{rest:02d} min"


def wrapped(text: str, width: int = LINE_WIDTH, indent: int = 0) -> list[str]:
    """Lines of at most `width` characters, as far as names allow."""
    # What Azure sent may hold anything: a terminal gets to see letters only.
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return textwrap.wrap(
        clean,
        max(width, 40),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )
