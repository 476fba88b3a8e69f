# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The copy of the tree in which files are broken."""

from __future__ import annotations

import contextlib
import py_compile
import shutil
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
NAMES = (
    "plugins",
    "roles",
    "playbooks",
    "tests",
    "docs",
    "meta",
    "extensions",
    "galaxy.yml",
    "pyproject.toml",
    "README.md",
)


def copied_tree(folder: Path) -> Path:
    """A copy that is its own mirror: a file is broken where tests and the simulator take it from."""
    shutil.rmtree(folder, ignore_errors=True)
    tree = folder / "tree"
    tree.mkdir(parents=True)
    for name in NAMES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    mirror = tree / ".build" / "ansible_collections" / "maintenance"
    mirror.mkdir(parents=True)
    (mirror / "azure").symlink_to(tree)
    return tree


@contextlib.contextmanager
def to_be_broken(path: Path) -> Iterator[str]:
    """Its code. While it is broken nothing compiled stands for it; then it is whole again."""
    code = path.read_text(encoding="utf-8")
    for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        compiled.unlink()
    try:
        yield code
    finally:
        path.write_text(code, encoding="utf-8")
        py_compile.compile(str(path))
