# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No two classes, functions or types of the host's and the controller's code have one name."""

from __future__ import annotations

import ast
import fnmatch
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[3] / "plugins"
# Who is called by a name that is agreed upon has no other. The pattern says where.
AGREED_UPON = {
    # host_half.py calls it, in the last of the files that it sends.
    "carried_out": "module_utils/*",
    # Where a program of the watcher begins.
    "main": "module_utils/_watch/*",
    # step_runner.py has a table of the kinds of steps, and calls the same three of each.
    "look": "module_utils/_drain/kind_*",
    "drain": "module_utils/_drain/kind_*",
    "restore": "module_utils/_drain/kind_*",
}


def names_in(source):
    """Of constants, a file's own are enough: VERSION is that of the file."""
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            # `parse = _document.parse` is the same thing, with types.
            same = node.value.attr if isinstance(node.value, ast.Attribute) else None
            yield from (name for name in map(ast.unparse, targets) if name != same)


def told_twice(sources):
    found = {}
    for path, source in sources.items():
        for name in set(names_in(source)):
            if name.startswith("_") or name.isupper() or not name.isidentifier():
                continue
            if not fnmatch.fnmatch(path, AGREED_UPON.get(name, "")):
                found.setdefault(name, []).append(path)
    return {name: paths for name, paths in found.items() if len(paths) > 1}


def test_no_two_things_have_one_name():
    paths = [path for part in ("module_utils", "plugin_utils") for path in sorted((PLUGINS / part).rglob("*.py"))]
    sources = {str(path.relative_to(PLUGINS)): path.read_text(encoding="utf-8") for path in paths}
    assert told_twice(sources) == {}


def test_what_would_be_found():
    sources = {
        "a": "class Host: pass\ndef read(): pass\ndef _own(): pass\nVERSION = 1\ndef carried_out(): pass",
        "b": "Host: t.TypeAlias = str\nread = 1\ndef _own(): pass\nVERSION = 2\nWord = str",
        "module_utils/_drain/kind_log.py": "def drain(): pass",
        "module_utils/_drain/kind_command.py": "def drain(): pass\nWord = int\nHost = a.Host\nread: int = a.read",
        "elsewhere": "def drain(): pass",
    }
    expected = {"Host": ["a", "b"], "read": ["a", "b"], "Word": ["b", "module_utils/_drain/kind_command.py"]}
    assert told_twice(sources) == expected
    assert set(told_twice({**sources, "c": "def drain(): pass"})) == {*expected, "drain"}
