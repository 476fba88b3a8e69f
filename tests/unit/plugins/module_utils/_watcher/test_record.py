# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a host on a disk that is full: a line is there as a whole or not at all, and never part of another."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain import audit

# What a disk that fills up in a line is like: so many bytes, and no more.
FULL = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._drain import audit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
print(audit.write(sys.argv[2], "approved", 0, event="y" * 50))
"""


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_line_that_was_cut_off_is_told_and_the_next_begins_anew(tmp_path, pytestconfig, room):
    path = tmp_path / "audit.jsonl"
    assert audit.write(str(path), "drained", 0, event="x")
    command = [sys.executable, "-c", FULL, str(pytestconfig.rootpath / ".build"), str(path)]
    command.append(str(path.stat().st_size + room))
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert audit.write(str(path), "returned to service", 0, event="z")
    assert audit.write(str(path), "drained", 0, event="x")
    lines = path.read_text().splitlines()
    whole = [line for line in lines if line.endswith("}")]
    assert [json.loads(line)["what"] for line in whole] == ["drained", "returned to service", "drained"]
    assert len(lines) - len(whole) == (room > 0)
    assert "" not in lines
