# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unpack a part of a wheel of the package index, once: what is wanted is small, the wheel around it may not be.

wheel_part.py ansible==12.3.0 ansible_collections/awx/ .build/awx
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


class Unavailable(Exception):
    """The package index does not have it, or can't be reached; with what pip said."""


def wheel_part(requirement: str, prefix: str | tuple[str, ...], target: Path) -> Path:
    """The folder with what the wheel holds under `prefix`, or under one of several, and nothing else of it."""
    target.mkdir(parents=True, exist_ok=True)
    made = target / "made"
    with (target / "lock").open("w") as lock:
        # Several test processes may want it at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists() or made.read_text(encoding="utf-8") != requirement:
            _unpack(requirement, prefix, target)
            made.write_text(requirement, encoding="utf-8")
    return target


def _unpack(requirement: str, prefix: str | tuple[str, ...], target: Path) -> None:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory() as folder:
        # Only files are taken out of it, so it need not fit the Python at hand.
        options = ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python", "--dest", folder]
        done = subprocess.run([*pip, *options, requirement], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Unavailable(f"{requirement} could not be downloaded: {done.stderr.strip()}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target, [name for name in archive.namelist() if name.startswith(prefix)])


if __name__ == "__main__":
    try:
        print(wheel_part(sys.argv[1], sys.argv[2], Path(sys.argv[3]).resolve()))
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
