# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks one function of a module that is loaded, in place: whoever has it already has the broken one then."""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple


class Swap(NamedTuple):
    function: FunctionType
    code: CodeType

    def do(self) -> None:
        setattr(self.function, "__code__", self.code)  # noqa: B010


def swap_for(module: ModuleType, code: str, broken: str) -> Swap | None:
    """None where more differs than the inside of one function: then only loading the module anew shows the break."""
    found = _differing(_compiled(code), compile(broken, "", "exec"), ())
    if found is None or len(found) != 1:
        return None
    ((path, new),) = found
    function = _function(module, path)
    if function is None or len(function.__code__.co_freevars) != len(new.co_freevars):
        return None
    return Swap(function, new)


@functools.lru_cache(maxsize=1)
def _compiled(code: str) -> CodeType:
    return compile(code, "", "exec")


def _differing(one: CodeType, other: CodeType, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], CodeType]] | None:
    """The functions that differ, by where they are; None where something else does."""
    if _own(one) != _own(other):
        return None
    found: list[tuple[tuple[str, ...], CodeType]] = []
    for mine, its in zip(_inner(one), _inner(other), strict=True):
        if _is_same(mine, its):
            continue
        here = (*path, mine.co_name)
        if mine.co_flags & inspect.CO_OPTIMIZED:
            found.append((here, its))
        else:
            # The body of a class.
            inner = _differing(mine, its, here)
            if inner is None:
                return None
            found += inner
    return found


def _is_same(one: CodeType, other: CodeType) -> bool:
    return _own(one) == _own(other) and all(map(_is_same, _inner(one), _inner(other)))


def _own(code: CodeType) -> tuple[Any, ...]:
    # 1 and True are equal, and so are 0.0 and -0.0: the text tells them apart.
    constants = [repr(value) if not isinstance(value, CodeType) else None for value in code.co_consts]
    names = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return (code.co_code, code.co_argcount, code.co_kwonlyargcount, code.co_flags, names, constants)


def _inner(code: CodeType) -> list[CodeType]:
    return [value for value in code.co_consts if isinstance(value, CodeType)]


def _function(module: ModuleType, path: tuple[str, ...]) -> FunctionType | None:
    found: Any = module
    for name in path:
        found = vars(found).get(name)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, functools.cached_property):
        found = found.func
    elif isinstance(found, (staticmethod, classmethod)):
        found = found.__func__
    return found if isinstance(found, FunctionType) and found.__code__.co_name == path[-1] else None
