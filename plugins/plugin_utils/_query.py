# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""JMESPath for the options named `query`."""

from __future__ import annotations

import typing as t


class BadQuery(ValueError):
    """The expression can't be used. The text is for the user."""


def compile_query(expression: str) -> t.Callable[[t.Any], t.Any]:
    """Return a function that applies the expression. Fails before anything was asked of a host."""
    try:
        import jmespath
        import jmespath.exceptions
    except ImportError:
        raise BadQuery(
            "query needs the Python package jmespath on the controller, which is not there: pip install jmespath"
        ) from None
    try:
        compiled = jmespath.compile(expression)
    except jmespath.exceptions.JMESPathError as error:
        raise BadQuery(f"query is not a JMESPath expression: {expression!r} ({_one_line(error)})") from None

    def apply(data: t.Any) -> t.Any:
        try:
            return compiled.search(data)
        except jmespath.exceptions.JMESPathError as error:
            raise BadQuery(f"query {expression!r} does not fit the data: {_one_line(error)}") from None

    return apply


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
