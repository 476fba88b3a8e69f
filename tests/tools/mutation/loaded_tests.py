# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Quick tests in a process that has loaded them and our code: for each break, a child with one function broken.

What was computed while the code was loaded is as it was before the break. So what survives here is not known to.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from mutation.child import Tell, allow, end_group, in_a_child
from mutation.swap import swap_for
from mutation.tests_run import NOTICED, Experience, Noticing, run_pytest


class LoadedTests:
    """The process, seen from outside."""

    def __init__(self, tests: list[str], tree: Path, experience: Experience, output: Path) -> None:
        theirs, mine = os.pipe()
        ours, answers = os.pipe()
        self.process = os.fork()
        if self.process == 0:
            try:
                os.setsid()
                os.close(mine)
                os.close(ours)
                written = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(written, 1)
                os.dup2(written, 2)
                run_pytest(tests, tree, _Loaded(theirs, answers, tree, experience, output))
            finally:
                os._exit(0)
        os.close(theirs)
        os.close(answers)
        self.questions = os.fdopen(mine, "w", encoding="utf-8")
        self.answers = os.fdopen(ours, encoding="utf-8")

    def noticed_by(self, file: str, code: str, broken: str) -> str:
        """The test that notices, or nothing where none of them does or nobody knows."""
        self.questions.write(json.dumps([file, code, broken]) + "\n")
        self.questions.flush()
        return str(json.loads(self.answers.readline()))

    def end(self) -> None:
        # It would not notice that nobody asks any more: a younger process of this kind has the pipe, too.
        end_group(self.process)
        os.waitpid(self.process, 0)


class _Loaded:
    """The process, from inside: a plugin of pytest that answers questions in place of running all tests once."""

    def __init__(self, questions: int, answers: int, tree: Path, experience: Experience, output: Path) -> None:
        self.questions = os.fdopen(questions, encoding="utf-8")
        self.answers = os.fdopen(answers, "w", encoding="utf-8")
        self.tree = tree
        self.experience = experience
        self.output = output

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        # No limit for this process: it waits most of the time.
        allow(0)
        # What a child does not touch it need not copy.
        gc.disable()
        gc.freeze()
        quick = list(filter(self.experience.is_quick, session.items))
        for line in self.questions:
            file, code, broken = json.loads(line)
            self.experience.broken = file
            quick.sort(key=self.experience.price)
            found = self._noticed_by(quick, file, code, broken)
            if found:
                self.experience.learn(found)
            self.answers.write(json.dumps(found) + "\n")
            self.answers.flush()
        return True

    def _noticed_by(self, items: list[pytest.Item], file: str, code: str, broken: str) -> str:
        module = _loaded_from(self.tree / file)
        swap = swap_for(module, code, broken) if module else None
        if swap is None:
            return ""

        def work(tell: Tell) -> int:
            swap.do()
            noticing = Noticing(tell, self.experience)
            items[0].config.pluginmanager.register(noticing)
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            return 0

        ended, told = in_a_child(work, self.output)
        if ended == NOTICED:
            return told
        # A signal: it took too long, or too much.
        return f"signal {-ended}" if ended < 0 else ""


def _loaded_from(path: Path) -> ModuleType | None:
    wanted = path.resolve()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(path.name) and Path(file).resolve() == wanted:
            return module
    return None
