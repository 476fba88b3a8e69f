# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is listed as no break at all is about code that is there, and says why."""

from __future__ import annotations

import pytest
from helpers import ROOT
from tools.mutation.same_programs import listed, same_program


@pytest.mark.parametrize(("file", "change"), listed())
def test_each_is_about_a_line_that_is_there(file, change):
    # What is only taken away leaves nothing behind the arrow.
    before, after = f"{change} ".split(" -> ", 1)
    assert before in " ".join((ROOT / file).read_text(encoding="utf-8").split())
    assert before != after.strip()
    assert same_program(file, change)


def test_what_is_not_listed_is_a_break():
    assert same_program("plugins/plugin_utils/_plan/waves.py", "a -> b") == ""
