# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A fact of the table, and what was seen of it. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.answers_heard import Answers


@dataclasses.dataclass(frozen=True)
class Seen:
    """`fits` is None where it could not be looked at; then the text says why."""

    text: str
    fits: bool | None


@dataclasses.dataclass(frozen=True)
class Fact:
    point: str
    grade: str
    expected: str
    see: Callable[[Answers], Seen]


def yes(text: str) -> Seen:
    return Seen(text, True)


def no(text: str) -> Seen:
    return Seen(text, False)


def not_seen(why: str) -> Seen:
    return Seen(why, None)
