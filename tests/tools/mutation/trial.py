# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether tests notice a break: first the quick ones in a process that has all loaded, then all in a fresh one."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from mutation.breaks import Break
from mutation.child import Tell, in_a_child
from mutation.loaded_tests import LoadedTests
from mutation.tests_run import NOTICED, Experience, Noticing, Recorder, run_pytest


class Verdict(NamedTuple):
    survived: bool
    # The test that noticed.
    by: str = ""


class Trial:
    """Some tests, to be run again and again."""

    def __init__(self, tests: list[str], tree: Path) -> None:
        self.tests = tests
        self.tree = tree
        self.output = tree.parent / "last-output.txt"
        self.experience = Experience()

    def begin(self) -> float:
        """Runs the tests over the code as it is, which must be good. Their seconds."""
        code, told = in_a_child(lambda tell: run_pytest(self.tests, self.tree, Recorder(tell)), self.output)
        if code:
            shown = self.output.read_text(encoding="utf-8")
            sys.exit(f"{shown}\nThe tests must pass before anything is broken: {' '.join(self.tests)}")
        found = json.loads(told)
        self.experience.seconds = found["seconds"]
        self.experience.busy = found["busy"]
        _load(found["modules"])
        self.loaded = LoadedTests(self.tests, self.tree, self.experience, self.output)
        return sum(self.experience.seconds.values())

    def end(self) -> None:
        self.loaded.end()

    def verdict(self, one: Break, code: str, quick: bool) -> Verdict:
        self.experience.broken = one.file
        by = self.loaded.noticed_by(one.file, code, one.code)
        return Verdict(False, by) if by else self._verdict_of_a_fresh_process(one, quick)

    def _verdict_of_a_fresh_process(self, one: Break, quick: bool) -> Verdict:
        (self.tree / one.file).write_text(one.code, encoding="utf-8")
        ended, told = in_a_child(lambda tell: self._tests(tell, quick), self.output)
        if ended == 0:
            return Verdict(True)
        if ended == NOTICED and told:
            self.experience.learn(told)
            return Verdict(False, told)
        # It can't be loaded, or took too long, or too much.
        return Verdict(False, f"signal {-ended}" if ended < 0 else f"code {ended}")

    def _tests(self, tell: Tell, quick: bool) -> int:
        # What was compiled before would be taken for the break, where both were written in the same second.
        sys.dont_write_bytecode = True
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
        return run_pytest(self.tests, self.tree, Noticing(tell, self.experience, quick))


def _load(modules: list[str]) -> None:
    """What the children need not load any more; our own code is not among it."""
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001
            continue
