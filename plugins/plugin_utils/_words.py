# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words for people: times as they read them, lists in a sentence, lines that fit, and letters only. Pure."""

from __future__ import annotations

import re
import textwrap
import typing as t

# Ansible puts blanks, quotes and a comma around a line that a task shows: together they fit into 80 columns.
LINE_WIDTH = 69
_DIGITS = re.compile(r"\d+")


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
    return textwrap.wrap(
        printable(text, " "),
        max(width, 40),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: t.Any, instead: str = "?") -> str:
    """What Azure or a host said may hold anything: a terminal gets to see letters only, and nothing that it obeys."""
    return "".join(letter if letter.isprintable() else instead for letter in str(text))


def in_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def some_of(words: list[str], most: int = 5) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def natural(name: str) -> str:
    """A key that sorts web-2 before web-10. One text, as texts compare much faster than tuples."""
    return _DIGITS.sub(_padded, name) + "\0" + name


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(12)
