# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a script is PowerShell at all, by a grammar of it. No PowerShell is needed for it.

It knows how things are written, not what goes with what: a `try` that catches nothing is nothing to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import tree_sitter
import tree_sitter_powershell

_PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))


def mistakes(script: str) -> list[str]:
    """One line for each place where it is not understood."""
    return list(_mistakes(_PARSER.parse(script.encode()).root_node))


def _mistakes(node: tree_sitter.Node) -> Iterator[str]:
    line = node.start_point[0] + 1
    if node.is_missing:
        yield f"line {line}: {node.type} is missing"
    elif node.is_error:
        yield f"line {line}: {(node.text or b'').decode()[:60]}"
    elif node.has_error:
        for child in node.children:
            yield from _mistakes(child)
