# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copy the tree to <build>/ansible_collections/maintenance/azure, where Ansible's tools want a collection to be.

Only what changed is copied, so that the caches of the tools stay good. What git ignores is neither copied nor removed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path


def git_files(root: Path) -> set[Path]:
    """What git tracks, or would track, and is there; relative to root."""
    listing = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    answer = subprocess.run(listing, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{root} is not a usable git repository (see above); the tests need a git clone.")
    names = (Path(name) for name in answer.stdout.split("\0") if name)
    return {name for name in names if (root / name).is_symlink() or (root / name).is_file()}


def same(one: Path, other: Path) -> bool:
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and one.readlink() == other.readlink()
    a, b = one.stat(), other.stat()
    return (a.st_size, a.st_mtime_ns, a.st_mode) == (b.st_size, b.st_mtime_ns, b.st_mode)


def update(source: Path, target: Path) -> None:
    if os.path.lexists(target) and same(source, target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # In one step: another run may be reading the old file.
    fresh = target.with_name(f"{target.name}.new")
    shutil.copy2(source, fresh, follow_symlinks=False)
    fresh.replace(target)


def remove(file: Path, top: Path) -> None:
    file.unlink(missing_ok=True)
    for folder in file.parents:
        if folder == top or any(folder.iterdir()):
            break
        folder.rmdir()


def mirror(root: Path, target: Path) -> None:
    if not (target / ".git").exists():
        subprocess.run(["git", "init", "--quiet", str(target)], check=True)
    # First, as it says which files of the mirror are a tool's own and stay.
    update(root / ".gitignore", target / ".gitignore")
    wanted = git_files(root)
    for name in git_files(target) - wanted:
        remove(target / name, target)
    for name in wanted:
        update(root / name, target / name)


if __name__ == "__main__":
    build = Path(sys.argv[1]).resolve()
    build.mkdir(exist_ok=True)
    with (build / "mirror.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mirror(Path.cwd(), build / "ansible_collections" / "maintenance" / "azure")
