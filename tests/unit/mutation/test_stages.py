# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The slow tests run only for what the quick ones leave, and begin over code that is whole."""

from __future__ import annotations

import types

import pytest
from tools.mutation.stages import Stages

BREAK = types.SimpleNamespace(file="rule.py", code="broken")


class Noticing:
    """A trial whose tests notice or do not, and that leaves the file broken as a trial does."""

    def __init__(self, tests, tree, notices, told):
        self.tests, self.file, self.notices, self.told = tests, tree / "rule.py", notices, told

    def begin(self):
        self.told.append(("begins over", *self.tests, self.file.read_text()))
        return 1.0

    def verdict(self, one, _code, quick):
        self.file.write_text(one.code)
        self.told.append(("tried by", *self.tests, quick))
        return types.SimpleNamespace(survived=self.tests[0] not in self.notices, by=self.tests[0])

    def end(self):
        self.told.append(("ended", *self.tests))


@pytest.fixture
def run(tmp_path):
    def run_one(*notices, quick=False, times=1, tests="quick, slow"):
        told = []
        (tmp_path / "rule.py").write_text("whole")
        stages = Stages(tmp_path, lambda names, tree: Noticing(names, tree, notices, told))
        verdicts = [stages.verdict(tests, BREAK, "whole", quick) for _time in range(times)]
        stages.end()
        return [verdict.survived for verdict in verdicts], told

    return run_one


def test_what_the_quick_ones_notice_the_slow_ones_are_not_asked(run):
    assert run("quick", "slow") == (
        [False],
        [("begins over", "quick", "whole"), ("tried by", "quick", False), ("ended", "quick")],
    )


@pytest.mark.parametrize("notices", [["slow"], []])
def test_what_they_leave_the_slow_ones_try_and_each_begins_once_over_whole_code(run, notices):
    tried = [("tried by", "quick", False), ("tried by", "slow", False)]
    assert run(*notices, times=2) == (
        [not notices] * 2,
        [
            ("begins over", "quick", "whole"),
            tried[0],
            ("begins over", "slow", "whole"),
            tried[1],
            *tried,
            ("ended", "quick"),
            ("ended", "slow"),
        ],
    )


def test_where_it_must_be_quick_only_the_first_are_asked(run):
    survived, told = run("slow", quick=True)
    assert survived == [True]
    assert ("tried by", "quick", True) in told
    assert not any("slow" in words for words in told)


def test_one_stage_of_several_folders(run):
    _survived, told = run("a", tests="a b")
    assert told == [("begins over", "a", "b", "whole"), ("tried by", "a", "b", False), ("ended", "a", "b")]
