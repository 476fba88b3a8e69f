# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A break of one function reaches whoever has the function already; the rest is left to a fresh process."""

from __future__ import annotations

import types

import pytest
from tools.mutation.swap import swap_for

CODE = """
import functools

LIMIT = 5

def is_large(number, least=LIMIT):
    return number > least

def shouted(words):
    return [(lambda word: word + "!")(word) for word in words]

class Count:
    start = 1

    def __init__(self):
        self.number = self.start

    def more(self):
        self.number = self.number + 1
        return self.number

    @property
    def twice(self):
        return self.number * 2

    @functools.cached_property
    def half(self):
        return self.number / 2

    @staticmethod
    def sign(number):
        return number > 0
"""


@pytest.fixture
def module():
    made = types.ModuleType("made")
    exec(compile(CODE, "made", "exec"), vars(made))
    return made


@pytest.mark.parametrize(
    ("old", "new", "shown", "before", "after"),
    [
        ("number > least", "number >= least", lambda module: module.is_large, False, True),
        ('word + "!"', "word * 2", lambda module: lambda _five: module.shouted(["a"]), ["a!"], ["aa"]),
        ("self.number + 1", "self.number - 1", lambda module: lambda _five: module.Count().more(), 2, 0),
        ("self.number * 2", "self.number ** 2", lambda module: lambda _five: module.Count().twice, 2, 1),
        ("self.number / 2", "self.number // 2", lambda module: lambda _five: module.Count().half, 0.5, 0),
        ("number > 0", "number > 9", lambda module: module.Count.sign, True, False),
    ],
)
def test_one_function_is_broken_for_whoever_has_it(module, old, new, shown, before, after):
    had_already = shown(module)
    assert had_already(5) == before
    swap_for(module, CODE, CODE.replace(old, new)).do()
    assert had_already(5) == after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 5", "LIMIT = 6"),
        ("least=LIMIT", "least=-LIMIT"),
        ("start = 1", "start = 2"),
        ("@functools.cached_property", "@property"),
        # 1 and True are equal, and not the same.
        ("start = 1", "start = True"),
        # Nothing differs that counts.
        ("import functools\n", "import functools  # for half\n"),
    ],
)
def test_what_a_fresh_process_has_to_tell(module, old, new):
    broken = CODE.replace(old, new)
    assert broken != CODE
    assert swap_for(module, CODE, broken) is None
