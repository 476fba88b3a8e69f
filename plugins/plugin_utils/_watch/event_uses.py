# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which texts of the user's variables make something else of `maintenance_event` than what a host can fill in.

A host knows no templates: it puts what it knows of an event in the place of `{{ maintenance_event.KEY }}`, and no more.
So every text that leads to `drain_steps` is taken apart, however many variables are in between. One that looks at an
event, or at what another text has made of it, can't be done there. One that only passes it on can. A variable whose
name is itself made by a template can't be followed; for such a one filled_in.py tries events of every kind.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Mapping

import jinja2
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import KEYS
from ansible_collections.maintenance.azure.plugins.plugin_utils._watch.filled_in import with_texts
from jinja2 import nodes

EVENT = "maintenance_event"
STEPS = "drain_steps"
# Filters that pass on what they are given, as it is.
_PASS_ON = frozenset({"combine", "d", "default", "first", "flatten", "last", "list", "reverse"})
_BY_NAME = frozenset({"lookup", "q", "query"})
_VARS_LOOKUPS = frozenset({"vars", "ansible.builtin.vars"})
_WORD = re.compile(r"\w+")
_ENVIRONMENT = jinja2.Environment(extensions=["jinja2.ext.do", "jinja2.ext.loopcontrols"], autoescape=True)


class EventUses:
    """`variables` as the user has written them."""

    def __init__(self, variables: Mapping[str, t.Any]) -> None:
        self.variables = variables
        self._trees: dict[str, nodes.Template | None] = {}
        self.reached = self._reached()
        self.told_of_it = self._told_of_it()

    def replaced(self, instead: Callable[[str], t.Any]) -> dict[str, t.Any] | None:
        """The variables with something else in the place of each text that looks at an event; None where none does."""
        found: list[str] = []

        def put(text: str) -> t.Any:
            if self._only_passes_on(text):
                return text
            found.append(text)
            return instead(text)

        fresh: dict[str, t.Any] = {
            name: with_texts(self.variables[name], put) for name in self.reached & self.told_of_it
        }
        if not found:
            return None
        every = self.variables.get("vars")
        return {**self.variables, **({"vars": {**every, **fresh}} if isinstance(every, Mapping) else {}), **fresh}

    def _reached(self) -> set[str]:
        """The variables that have a part in the steps."""
        found: set[str] = set()
        left = [STEPS]
        while left:
            name = left.pop()
            if name in self.variables and name not in found:
                found.add(name)
                left += self._names_of(name)
        return found

    def _names_of(self, variable: str) -> set[str]:
        return {name for text in _templates_in(self.variables[variable]) for name in self._names_in(text)}

    def _told_of_it(self) -> set[str]:
        """Those among them in which an event, or what was made of it, has a part."""
        names = {name: self._names_of(name) for name in self.reached}
        found = {EVENT}
        while more := {name for name in names if name not in found and names[name] & found}:
            found |= more
        return found

    def _tree(self, text: str) -> nodes.Template | None:
        """None where it can't be taken apart."""
        if text not in self._trees:
            try:
                # Such a line may say that templates are written in other signs.
                self._trees[text] = None if text.startswith("#jinja2:") else _ENVIRONMENT.parse(str(text))
            except jinja2.TemplateError:
                self._trees[text] = None
        return self._trees[text]

    def _names_in(self, text: str) -> set[str]:
        tree = self._tree(text)
        return set(_WORD.findall(text)) if tree is None else _names(tree)

    def _only_passes_on(self, text: str) -> bool:
        if not _is_template(text) or not self._names_in(text) & self.told_of_it:
            return True
        tree = self._tree(text)
        return tree is not None and all(self._passes_on(one) for one in tree.body)

    def _uses(self, node: nodes.Node | None) -> bool:
        return node is not None and bool(_names(node) & self.told_of_it)

    def _passes_on(self, node: nodes.Node) -> bool:
        """A part of a template: text, something to be written, or a condition that has nothing to do with events."""
        if isinstance(node, nodes.Output):
            return all(_is_of_the_event(one) or self._moves(one) for one in node.nodes)
        if isinstance(node, nodes.If) and not self._uses(node.test):
            parts = [*node.body, *node.elif_, *node.else_]
            return all(self._passes_on(one) for one in parts)
        return not self._uses(node)

    def _moves(self, node: nodes.Node | None) -> bool:
        """Whether it passes on what is in variables, and does not look at it."""
        if node is None or not self._uses(node):
            return True
        if isinstance(node, nodes.Name):
            return node.name != EVENT
        if isinstance(node, nodes.Getattr):
            return self._moves(node.node)
        if isinstance(node, nodes.Getitem):
            return self._moves(node.node) and not self._uses(node.arg)
        if isinstance(node, (nodes.Add, nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair)):
            return all(self._moves(one) for one in node.iter_child_nodes())
        if isinstance(node, nodes.CondExpr):
            return not self._uses(node.test) and self._moves(node.expr1) and self._moves(node.expr2)
        if isinstance(node, nodes.Filter) and node.name in _PASS_ON:
            return all(self._moves(one) for one in node.iter_child_nodes())
        return _by_constant_name(node) is not None


def _is_of_the_event(node: nodes.Node) -> bool:
    """`maintenance_event.KEY`, or with the key in brackets, of a key that a host fills in."""
    if not isinstance(node, (nodes.Getattr, nodes.Getitem)) or not isinstance(node.node, nodes.Name):
        return False
    return node.node.name == EVENT and _key_of(node) in KEYS


def _names(node: nodes.Node) -> set[str]:
    """The variables that it asks for, also by their names."""
    # What is found is only below it.
    parts: list[nodes.Node] = [node, *node.find_all((nodes.Name, nodes.Getattr, nodes.Getitem, nodes.Call))]
    # Of `vars`, which holds them all, only what is asked for counts.
    found = {one.name for one in parts if isinstance(one, nodes.Name) and one.name != "vars"}
    for one in parts:
        found |= _by_constant_name(one) or set()
    return found


def _by_constant_name(node: nodes.Node) -> set[str] | None:
    """For `lookup('vars', 'NAME')` and `vars.NAME`, the names; None for all else."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name) and node.node.name in _BY_NAME:
        words = [one.value if isinstance(one, nodes.Const) else None for one in node.args]
        return {str(word) for word in words[1:]} if words[:1] and words[0] in _VARS_LOOKUPS else None
    if isinstance(node, (nodes.Getattr, nodes.Getitem)) and isinstance(node.node, nodes.Name):
        return {key} if node.node.name == "vars" and (key := _key_of(node)) else None
    return None


def _key_of(node: nodes.Getattr | nodes.Getitem) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    return node.arg.value if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str) else None


def _is_template(text: str) -> bool:
    return "{{" in text or "{%" in text or text.startswith("#jinja2:")


def _templates_in(value: t.Any) -> Iterable[str]:
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _templates_in(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _templates_in(one)
    elif isinstance(value, str) and _is_template(value):
        yield value
