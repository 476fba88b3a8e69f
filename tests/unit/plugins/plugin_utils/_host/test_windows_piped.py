# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each ansible-core pipes to PowerShell is understood: recorded from all of them, without the scripts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.windows_double import piped
from helpers.windows_double.piped import NotPiped, Piped, taken_apart

FORMS = json.loads(Path(piped.__file__).with_name("piped_forms.json").read_text(encoding="utf-8"))
LOOK = {"deeds": [{"deed": "boot"}]}
EXPECTED = {
    "plain": Piped("maintenance.azure._windows_host", LOOK, check_mode=False),
    "check": Piped("maintenance.azure._windows_host", LOOK, check_mode=True),
    # With `async: 30`.
    "alone": Piped("ansible.windows.win_command", {"argv": ["true"]}, check_mode=False, job="j1", seconds=30),
}


def as_piped(manifest):
    return b"$wrapper = 'of core'\0\0\0\0" + json.dumps(manifest).encode() + b"\n"


def test_every_core_is_there():
    assert list(FORMS) == ["2.16", "2.17", "2.18", "2.19", "2.20", "2.21"]


@pytest.mark.parametrize("core", sorted(FORMS))
@pytest.mark.parametrize("form", EXPECTED)
def test_what_is_piped_is_understood(core, form):
    assert taken_apart(as_piped(FORMS[core][form])) == EXPECTED[form]


@pytest.mark.parametrize("data", [b"", b"echo", as_piped({"module": "x"}), as_piped({"scripts": {}, "actions": []})])
def test_what_is_no_module_is_said(data):
    with pytest.raises(NotPiped):
        taken_apart(data)
