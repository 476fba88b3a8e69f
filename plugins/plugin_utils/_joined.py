# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who belongs together, joined pair by pair (union-find). Pure."""

from __future__ import annotations


class Joined:
    """A name that was never joined stands for itself."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}

    def root(self, name: str) -> str:
        """The one that stands for all that this name was joined with."""
        above = self._above
        while (next_up := above.get(name, name)) != name:
            # Halving the path on the way keeps it short.
            above[name] = above.get(next_up, next_up)
            name = next_up
        return name

    def join(self, one: str, other: str) -> None:
        """From now on the root of `one` stands for both."""
        top, below = self.root(one), self.root(other)
        if top != below:
            self._above[below] = top
