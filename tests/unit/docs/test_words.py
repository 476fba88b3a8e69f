# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people read has the words of the glossary: names of tasks, messages, guides and documentation."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Left out is what means something else where it stands: a leader of Patroni, a file that is gone, an unknown version.
NOT_OURS = re.compile(
    r"\b(keepers?|strangers?|undrained|vanish(es|ed|ing)?|rolls?|rollout|uncovered VMs?|run lock"
    r"|lost (contact|hosts?)|hosts? (was|were|is|are) lost|(events? (is|are)|it is) gone|gone from (a|the)"
    r"|(was|were) not read|not read[,:]|hosts? (is|are|stays?) unknown"
    r"|(is|are|was|were|not) restored|[Tt]he restore|a restore|to restore"
    r"|[Rr]estores?(?= (the |what|it|them|hosts?)\b))\b"
)
# Names that users have in their AWX, in their results or in their inventory, and those of our files.
NAMES = re.compile(
    r"`[^`]*`|\]\([^)]*\)|\b[A-Z]{1,2}\([^)]*\)|\{\{.*?\}\}|\*[^*]*roll one group\*"
    r"|[\w.-]*(: roll one group|_roll\w*|roll/|roll\.\w+|_fence\.roll)|^ *[\w-]+:$|the role restore",
    re.MULTILINE,
)
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "roles").glob("*/README.md")),
    )
    # They say which words are not ours, what Azure is like, and what the simulator's VMs do.
    if path.name not in ("glossary.md", "simulator.md") and path.parent.name != "simulator"
]
TASKS = sorted(path for part in ("playbooks", "roles") for path in (ROOT / part).rglob("*.yml"))
CODE_FILES = sorted(
    path for path in (ROOT / "plugins").rglob("*.py") if path.parent.name not in ("modules", "simulator")
)


def found_in(text):
    return [match[0] for match in NOT_OURS.finditer(NAMES.sub(" ", text))]


def relative(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES, ids=relative)
def test_pages(path):
    lines = CODE.sub("", path.read_text(encoding="utf-8")).splitlines()
    assert [(line, found) for line in lines if (found := found_in(line))] == []


def test_names_of_tasks():
    named = re.compile(r"^ *- name: (.*)$", re.MULTILINE)
    names = {name for path in TASKS for name in named.findall(path.read_text(encoding="utf-8"))}
    assert {"Approve the event", "Drain the hosts of the wave", "Return the hosts to service"} <= names
    assert "Wait until the event is over" in names
    assert [(name, found) for name in sorted(names) if (found := found_in(name))] == []


def messages(source):
    """The texts of a file that have more than one word, without its documentation for developers."""
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    docs = {id(node.body[0].value) for node in nodes if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and " " in text.strip():
            yield text


@pytest.mark.parametrize("path", CODE_FILES, ids=relative)
def test_messages(path):
    said = [text for text in messages(path.read_text(encoding="utf-8")) if found_in(text)]
    assert said == []


@pytest.mark.parametrize("path", sorted((ROOT / "plugins" / "modules").glob("*.py")), ids=lambda path: path.stem)
def test_documentation(path):
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "DOCUMENTATION":
            lines = ast.literal_eval(node.value).splitlines()
            # Names of options and of choices stand alone on their lines.
            texts = [
                line for line in lines if " " in line.strip() and not re.match(r" *(- \w+|choices: .*|\w+:)$", line)
            ]
            assert [(line, found) for line in texts if (found := found_in(line))] == []


def test_what_would_be_found():
    assert found_in("a keeper of the lease, lost contact, the host was not read") == [
        "keeper",
        "lost contact",
        "was not read",
    ]
    assert found_in("`keeper` and C(vanished) are names; Azure maintenance: roll one group; the role restore") == []
