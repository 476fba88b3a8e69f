# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The Pythons of this machine: on the PATH, and those of pyenv that are installed but not chosen."""

from __future__ import annotations

import functools
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path


@functools.lru_cache(maxsize=1)
def find_pythons() -> dict[str, str]:
    """Such as {"3.6": "/path/to/python3.6", ...}, oldest first; each one was started and told its version."""
    found: dict[str, str] = {}
    for path in _candidates():
        version = path.name.removeprefix("python")
        if version not in found and _runs(path, version):
            found[version] = str(path)
    return dict(sorted(found.items(), key=lambda item: int(item[0].split(".")[1])))


def _candidates() -> Iterator[Path]:
    for folder in (*_path(), *_pyenv_folders()):
        # A virtual environment has only what was installed into it, and goes away.
        if folder.is_dir() and not (folder.parent / "pyvenv.cfg").exists():
            yield from sorted(path for path in folder.iterdir() if re.fullmatch(r"python3\.\d+", path.name))


def _path() -> list[Path]:
    return [Path(folder) for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if folder]


def _pyenv_folders() -> Iterator[Path]:
    # Not `pyenv root`: it believes HOME, which the Makefile sets to a folder of its own.
    roots = [folder.parent for folder in _path() if folder.name == "shims"]
    roots.append(Path(os.environ.get("PYENV_ROOT") or Path(pwd.getpwuid(os.getuid()).pw_dir, ".pyenv")))
    if pyenv := shutil.which("pyenv"):
        roots.append(Path(pyenv).resolve().parent.parent)
    for root in roots:
        yield from sorted(root.glob("versions/*/bin"), reverse=True)


def _runs(path: Path, version: str) -> bool:
    """A shim of pyenv is there for every Python, and fails for one that is not chosen."""
    command = [str(path), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.strip() == version


def link_pythons(folder: Path) -> None:
    """For a tool that looks at the PATH only, and trusts the shims that it sees there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for version, path in find_pythons().items():
        (folder / f"python{version}").symlink_to(path)


if __name__ == "__main__":
    link_pythons(Path(sys.argv[1]))
