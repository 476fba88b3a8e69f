# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages of tests: the slow ones are asked only about breaks that the quick ones have not noticed."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from pathlib import Path

if t.TYPE_CHECKING:
    from mutation.breaks import Break
    from mutation.trial import Trial, Verdict


class Stages:
    """The trials that were begun, by their tests."""

    def __init__(self, tree: Path, make: Callable[[list[str], Path], Trial]) -> None:
        self.tree = tree
        self._make = make
        self._begun: dict[str, Trial] = {}

    def verdict(self, tests: str, one: Break, code: str, quick: bool) -> Verdict:
        """That of the first stage that notices. Stages are parted by commas; `quick` asks only the first."""
        first, *more = [stage.strip() for stage in tests.split(",")]
        verdict = self._trial(first, one, code).verdict(one, code, quick)
        for stage in [] if quick else more:
            if not verdict.survived:
                break
            verdict = self._trial(stage, one, code).verdict(one, code, quick)
        return verdict

    def _trial(self, tests: str, one: Break, code: str) -> Trial:
        if tests not in self._begun:
            # An earlier stage has left it broken.
            (self.tree / one.file).write_text(code, encoding="utf-8")
            self._begun[tests] = self._make(tests.split(), self.tree)
            print(f"{tests}: {self._begun[tests].begin():.0f} s", flush=True)
        return self._begun[tests]

    def end(self) -> None:
        for trial in self._begun.values():
            trial.end()
