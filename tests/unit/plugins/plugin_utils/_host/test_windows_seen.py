# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The double answers what a real PowerShell answered, case by case."""

from __future__ import annotations

from pathlib import Path

from helpers.windows_double import deeds
from helpers.windows_double.machine import Machine
from helpers.windows_double.recorded import CASES, FOLDER, differences


def test_the_double_answers_as_powershell_did(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.is_up_for(2918.8, counts=False)
    assert differences(machine.real(FOLDER), lambda asked, check_mode: deeds.done(machine, asked, check_mode)) == []
    assert len(CASES) == 22
