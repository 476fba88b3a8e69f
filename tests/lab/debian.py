# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small Debian in a folder, made once and kept until its recipe changes."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from lab.shell import run

SUITE = "bookworm"


def path(work: Path, packages: list[str]) -> Path:
    recipe = " ".join([SUITE, *packages])
    return work / f"image-{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"


def make(work: Path, packages: list[str]) -> Path:
    """The folder with the image, built if it is not there; older ones in `work` are removed."""
    image = path(work, packages)
    for old in work.glob("image-*"):
        if old != image:
            shutil.rmtree(old)
    if not image.exists():
        print(f"Building the image of the machines, Debian {SUITE}: some minutes, once", flush=True)
        partial = image.with_name(f"{image.name}.partial")
        try:
            _debootstrap(partial, packages)
        except RuntimeError as problem:
            print(f"Once more, as the first try failed: {str(problem)[-300:]}", flush=True)
            _debootstrap(partial, packages)
        partial.rename(image)
    return image


def _debootstrap(folder: Path, packages: list[str]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    run("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", SUITE, folder, timeout=1500)
