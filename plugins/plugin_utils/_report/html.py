# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small pieces of the report's page. All that comes from outside goes through Markup.format, and so is text."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._words import clock
from markupsafe import Markup

NOTHING = Markup("")
SPACE = Markup(" ")
COMMA = Markup(", ")
DOT = Markup(" &middot; ")
NEW_LINE = Markup("\n")
STATE_WORDS = {"pending": "planned", "started": "started", "clear": "nothing planned", "unknown": "unknown"}
# Names that are written out before "and 7 more".
MOST_NAMES = 6
_SECONDS_OF_TODAY = 12 * 3600


def join(parts: Iterable[str], between: Markup = NOTHING) -> Markup:
    return between.join(part for part in parts if part)


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def time_of(at: str | None, short: bool = False) -> Markup:
    if not at:
        return Markup("")
    at = str(at)
    text = at[11:19] if short else f"{at[:10]} {at[11:19]} UTC"
    return Markup('<time datetime="{}">{}</time>').format(at, text)


def countdown(at: str | None, seconds_left: int | None) -> Markup:
    """A countdown that the script keeps up to date."""
    if at is None or seconds_left is None:
        return Markup("")
    return Markup('<span data-due="{}">in {}</span>').format(at, clock(seconds_left))


def deadline(event: Mapping[str, t.Any], between: Markup) -> Markup:
    """The countdown and the time; with the day, where it is not today's or tomorrow's early hours."""
    at, left = event["not_before"], event["seconds_left"]
    return join([countdown(at, left), time_of(at, short=(left or 0) <= _SECONDS_OF_TODAY)], between)
