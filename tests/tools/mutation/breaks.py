# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which breaks of a file there are, and what it looks like broken. Cosmic Ray makes them."""

from __future__ import annotations

import ast
import dataclasses
import pickle
import re
import sys
import warnings
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import MutationVisitor
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator, operator_names

# `is` in place of `==`, and the other way round: for words and small numbers that is the same.
SAME = re.compile(r"ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot|Is_Eq|IsNot_NotEq)$")


@dataclasses.dataclass(frozen=True)
class Break:
    file: str
    line: int
    # The line as it was and as it is.
    change: str
    # The whole file, broken.
    code: str


def breaks_of(file: str) -> list[Break]:
    """All of them, in the order of the lines; two that give the same text are one, what is no Python is none."""
    path = Path(file)
    code = path.read_text(encoding="utf-8")
    # A tree is changed in place, so that each break needs its own: six times as fast as to parse the file again.
    sys.setrecursionlimit(50_000)
    tree = get_ast(code)
    kept = pickle.dumps(tree)
    hidden = _without_effect_in(code)
    found: dict[str, Break] = {}
    for start, operator, occurrence in _places(list(ast_nodes(tree))):
        if any(first <= start < end for first, end in hidden):
            continue
        broken = MutationVisitor(occurrence, operator).walk(pickle.loads(kept)).get_code()
        if broken != code and broken not in found and _is_python(broken):
            found[broken] = Break(file, start[0], changed(code, broken), broken)
    return list(found.values())


def _is_python(code: str) -> bool:
    with warnings.catch_warnings():
        # '"is" with a literal' and the like: that is what breaks look like.
        warnings.simplefilter("ignore")
        try:
            compile(code, "", "exec")
        except SyntaxError:
            return False
    return True


def _places(nodes: list[Any]) -> list[tuple[tuple[int, int], Operator, int]]:
    """Where a file can be broken, by which operator, and which of the operator's places it is."""
    found = []
    for name in operator_names():
        kind = get_operator(name)
        if SAME.search(name) or kind.arguments():
            continue
        operator = kind()
        positions = (start for node in nodes for start, _end in operator.mutation_positions(node))
        found += [(start, name, operator, occurrence) for occurrence, start in enumerate(positions)]
    found.sort(key=lambda one: (one[0], one[1], one[3]))
    return [(start, operator, occurrence) for start, _name, operator, occurrence in found]


def _without_effect_in(code: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations and decorators are: what they say about types, or that data is frozen, no test could notice."""
    found = []
    for node in ast.walk(ast.parse(code)):
        inner = [
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        ]
        for one in inner:
            if isinstance(one, ast.expr):
                found.append(((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)))
    return found


def changed(code: str, broken: str) -> str:
    """The lines as they were and as they are."""
    before, after = code.splitlines(), broken.splitlines()
    first = next((place for place, (one, other) in enumerate(zip(before, after, strict=False)) if one != other), 0)
    last = next(
        (place for place, (one, other) in enumerate(zip(before[::-1], after[::-1], strict=False)) if one != other), 0
    )
    sides = [" ".join(" ".join(lines[first : len(lines) - last]).split()) for lines in (before, after)]
    return " -> ".join(sides)
