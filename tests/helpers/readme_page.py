# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the README tells to type and to write, and a user who does."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

from helpers import ROOT, ansible_run

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    return [line for language, text in BLOCK.findall(README) if language == "console" for line in text.splitlines()]


def commands_with(start: str) -> list[str]:
    return [line for line in commands() if line.startswith(start)]


def files() -> dict[str, str]:
    blocks = [text.partition("\n") for language, text in BLOCK.findall(README) if language == "yaml"]
    return {title.removeprefix("# "): body for title, _end, body in blocks}


def clone(folder: Path) -> Path:
    """A copy of what git tracks, or would track."""
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


class User:
    """Someone with a clone, an empty collections path, and a terminal."""

    def __init__(self, folder: Path) -> None:
        self.folder = clone(folder)
        self.installed = folder / "installed"

    def type(self, command: str, **more: str) -> str:
        settings = {"ANSIBLE_COLLECTIONS_PATH": str(self.installed), "PYTHONPATH": "", **more}
        done = ansible_run.run(self.folder, shlex.split(command), 240, **settings)
        assert done.code == 0, f"{command}: {done.output}"
        return done.output
