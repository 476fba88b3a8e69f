# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts on which only one of the ways works in which the host halves travel."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

HAS_CURL = shutil.which("curl") is not None
needs_curl = pytest.mark.skipif(not HAS_CURL, reason="no curl on this machine")
# curl alone, Python as one command, and a module of Ansible's.
ALL = ("curl", "command", "module")
HERE = ALL if HAS_CURL else ALL[1:]
TO_THE_SERVICE = (pytest.param("curl", marks=needs_curl), "command", "module")
# Where it does not matter which.
ANY = HERE[0]
# What keeps a journal or a lock needs Python.
TO_PYTHON = ("command", "module")
TOOLS = ("sh", "od", "date", "cat", "echo", "env")
REFUSES_COMMANDS = '#!/bin/sh\ncase "$1" in -*) exit 3 ;; esac\nexec {python} "$@"\n'


def host_vars(folder: Path, way: str) -> dict[str, Any]:
    """Variables of a host that leave no other way; `play_keywords` belong to them."""
    if way == "curl":
        return {"ansible_python_interpreter": "/nonexistent/python3"}
    if way == "command":
        return {"ansible_python_interpreter": sys.executable}
    python = folder / "python3"
    python.write_text(REFUSES_COMMANDS.format(python=sys.executable))
    python.chmod(0o755)
    return {"ansible_python_interpreter": str(python)}


def play_keywords(folder: Path, way: str) -> dict[str, Any]:
    if way == "curl":
        return {}
    tools = folder / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in TOOLS:
            (tools / name).symlink_to(str(shutil.which(name)))
    return {"environment": {"PATH": str(tools)}}
