# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the watcher, and of its reflexes."""

from __future__ import annotations

import ipaddress
import re
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

import jinja2
from jinja2 import nodes

from ...module_utils._azure.http import check_endpoint
from ...module_utils._azure.rules import BadRules, read_rules
from ...module_utils._steps.machine import bad_web_address
from ...module_utils._watcher.decide import ACTIONS, FLAGS, KEYS, MARK, MARK_SIGN, TELL, digest_of_steps, filled
from ...module_utils._watcher.protocol import SHORTEST_INTERVAL
from .._steps.kinds import Spec, Step, is_done_by_tasks, place_of, webhook_of_the_controller
from .._steps.validate import BadSteps, checked_steps

_KEYS_OF_AN_ADDRESS = ("url", "secret", "ca_file", "headers")
METRICS = "azure_maintenance.prom"
_OWN_HEADERS = ("x-maintenance-", "content-", "connection", "host", "transfer-encoding")


class BadWatch(ValueError):
    """The variables of the role can't be used. The text is for the user."""


def settings_of(options: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The content of `watch_config`."""
    for name in ("interval", "heartbeat"):
        if not options[name] > 0:
            raise BadWatch(f"watch_{name} must be more than 0 seconds, not {options[name]}")
    if options["interval"] < SHORTEST_INTERVAL:
        raise BadWatch(
            f"watch_interval must be at least {SHORTEST_INTERVAL} seconds: the service allows 5 requests a second for"
            " all programs of a VM together"
        )
    if not options["name"].strip() or any(ord(letter) < 32 for letter in options["name"]):
        raise BadWatch(f"watch_name must be a name, not {options['name']!r}")
    for name in ("status_file", "journal"):
        if not options[name].startswith("/"):
            raise BadWatch(f"{name} must be an absolute path, not {options[name]!r}")
    return {
        "name": options["name"],
        "endpoint": _endpoint(options["endpoint"]),
        "api_version": options["api_version"],
        "vm_name": options["vm_name"] or None,
        "interval": options["interval"],
        "heartbeat": options["heartbeat"],
        "status_file": options["status_file"],
        "journal": options["journal"],
        "metrics_file": f"{options['status_file'].rpartition('/')[0]}/{METRICS}" if options["metrics"] else None,
        "notify": [_address(one, number) for number, one in enumerate(options["notify"], start=1)],
    }


def literal_addresses(settings: Mapping[str, t.Any]) -> list[str]:
    """The addresses that the watcher speaks to, if all of them are literal; else none, as a name may change."""
    urls = [settings["endpoint"], *(one["url"] for one in settings["notify"])]
    try:
        return list(dict.fromkeys(str(ipaddress.ip_address(urlsplit(url).hostname or "")) for url in urls))
    except ValueError:
        return []


def has_secrets(settings: Mapping[str, t.Any]) -> bool:
    return any(one.get("secret") or one.get("headers") for one in settings["notify"])


def _endpoint(endpoint: str) -> str:
    if endpoint == "auto":
        return endpoint
    try:
        return str(check_endpoint(endpoint))
    except ValueError as error:
        raise BadWatch(str(error)) from None


def _address(given: t.Any, number: int) -> dict[str, t.Any]:
    where = f"watch_notify, address {number}"
    if not isinstance(given, Mapping) or not isinstance(given.get("url"), str):
        raise BadWatch(f"{where}: needs a url, such as {{url: https://eda.example.com:5010/}}")
    unknown = [str(key) for key in given if key not in _KEYS_OF_AN_ADDRESS]
    if unknown:
        raise BadWatch(f"{where}: there is no {', '.join(unknown)}; known are {', '.join(_KEYS_OF_AN_ADDRESS)}")
    headers = given.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise BadWatch(f"{where}: headers must be a mapping")
    if problem := bad_web_address(given["url"], headers):
        raise BadWatch(f"{where}: {problem}")
    taken = [name for name in headers if str(name).lower().startswith(_OWN_HEADERS)]
    if taken:
        raise BadWatch(f"{where}: the header {taken[0]} is set by the watcher itself")
    ca_file = given.get("ca_file") or None
    if ca_file and not str(ca_file).startswith("/"):
        raise BadWatch(f"{where}: ca_file must be an absolute path on the host, not {ca_file!r}")
    return {
        "url": given["url"],
        "secret": str(given["secret"]) if given.get("secret") else None,
        "ca_file": ca_file,
        "headers": {str(name): str(value) for name, value in headers.items()},
    }


def program_parts(files: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Path below the program's folder -> source, of all that runs on the host."""
    root = "lib/ansible_collections/maintenance/azure/plugins/module_utils"
    return {f"{root}/{name}": source for name, source in sorted(files)}


# A host knows no templates. So the steps are resolved with marks in place of what is not known yet, which the host
# replaces. Where a text that leads to a step looks at the event, as a condition does (EventUses finds them), or
# marks come to another step than the template itself would for an event of some kind, the host can't do it.

Whereabouts: t.TypeAlias = tuple[t.Any, ...]
Resolve: t.TypeAlias = Callable[[Mapping[str, t.Any]], Sequence[Step]]
_LISTS = {"resources": True}
MARKS: dict[str, t.Any] = {
    key: [MARK % key] if key in _LISTS else MARK % key for key in (*KEYS, *_LISTS, "affects_this_host")
}
_TYPES = ("Reboot", "Redeploy", "Freeze", "Preempt", "Terminate")
# In the place of a text that looks at the event.
LOOKED = MARK_SIGN + "Looked" + MARK_SIGN
_ANY_MARK = re.compile(f"{MARK_SIGN}[^{MARK_SIGN}]*{MARK_SIGN}")


def events_to_try() -> list[dict[str, t.Any]]:
    """Of every kind, and as different from each other as events are."""
    found = []
    for number, kind in enumerate(_TYPES):
        for started in (False, True):
            found.append(
                {
                    "id": f"{number}{int(started)}0E8FB1-0000-4000-8000-000000000000",
                    "type": kind,
                    "status": "Started" if started else "Scheduled",
                    "source": ("Platform", "User")[(number + started) % 2],
                    "resource_type": "VirtualMachine",
                    "resources": [f"vm-{one}" for one in range(1 + (number + started) % 3)],
                    "not_before": "" if started else f"2026-11-16T0{number}:35:05Z",
                    "seconds_left": 0 if started else (30, 300, 900, 86400, 600)[number],
                    "duration_seconds": (0, 5, 9, 600, -1)[(number + started) % 5],
                    "description": ("", "Virtual machine is being paused")[(number // 2 + started) % 2],
                    "affects_this_host": True,
                }
            )
    return found


def worded(item: t.Any) -> t.Any:
    """The step with a word in the place of marks that does as a name and as a number, to see whose it is."""
    return with_texts(item, lambda text: _ANY_MARK.sub("1", text))


def check_that_nothing_looks(items: t.Any, is_of_others: Callable[[t.Any], bool]) -> None:
    """`items` are the user's steps with LOOKED in them. Raises BadWatch with the number of the first that has it."""
    if not isinstance(items, list):
        raise BadWatch(
            "drain_steps as a whole depend on maintenance_event, which a host that acts by itself can't decide"
        )
    for number, item in enumerate(items, start=1):
        for path, text in texts_in(item):
            if LOOKED in text and not is_of_others(item):
                raise _bad(number, str(path[0]) if path else "it", path[1:])


def check_that_the_host_can(steps: Sequence[Step], resolve: Resolve, mine: Sequence[int]) -> None:
    """`steps` are those of the user with MARKS; `mine` are the numbers of the steps that the host does. Raises BadWatch
    with the number of the step.
    """
    for number in mine:
        step = steps[number - 1]
        for path, text in texts_in(step.arguments):
            if MARK_SIGN in text and not _is_filled_in_on_the_host(step.kind, path, text):
                raise _bad(number, step.kind, path)
    for event in events_to_try():
        for_event = resolve(event)
        if len(for_event) != len(steps):
            raise BadWatch(
                f"drain_steps are {len(for_event)} steps for a {event['type']}, and {len(steps)} for another event:"
                " a host that acts by itself can't decide that"
            )
        for number in mine:
            step, wanted = steps[number - 1], for_event[number - 1]
            if step.kind != wanted.kind or _texts(filled(step.arguments, event)) != _texts(wanted.arguments):
                raise _bad(number, step.kind, ())


def _bad(number: int, kind: str, path: Sequence[t.Any]) -> BadWatch:
    where = f": {'.'.join(map(str, path))}" if path else ""
    return BadWatch(
        f"drain_steps, step {number}: {kind}{where} uses maintenance_event in a way"
        " that a host can't fill in by itself. That is done in log.message, and where"
        " {{ maintenance_event.KEY }} is a whole word of a command that is given as a list"
    )


def _is_filled_in_on_the_host(kind: str, path: Sequence[t.Any], text: str) -> bool:
    marks = [MARK % key for key in KEYS]
    if kind == "log" and path in (("message",), ("restore_message",)):
        for mark in marks:
            text = text.replace(mark, "")
        return MARK_SIGN not in text
    # A word of a list: the last part of the path is its place.
    return isinstance(path[-1], int) and text in marks and kind in ("command", "checkpoint", "failover")


def _texts(value: t.Any) -> list[tuple[Whereabouts, str]]:
    return list(texts_in(value, every=True))


def texts_in(
    value: t.Any, path: tuple[t.Any, ...] = (), every: bool = False
) -> Iterable[tuple[tuple[t.Any, ...], str]]:
    """Each text and where it is; with `every`, numbers and the like as texts, too."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            yield from texts_in(one, (*path, name), every)
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from texts_in(one, (*path, number), every)
    elif every or isinstance(value, str):
        yield path, str(value)


def with_texts(value: t.Any, put: Callable[[str], t.Any]) -> t.Any:
    """The same with each text replaced. One that stays is the same object: Ansible knows by it where it is from."""
    if isinstance(value, Mapping):
        return {name: with_texts(one, put) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(one, put) for one in value]
    return put(value) if isinstance(value, str) else value


# A host knows no templates: it puts what it knows of an event in the place of `{{ maintenance_event.KEY }}`, and no
# more. So every text that leads to `drain_steps` is taken apart, however many variables are in between. One that
# looks at an event, or at what another text has made of it, can't be done there. One that only passes it on can. A
# variable whose name is itself made by a template can't be followed; check_that_the_host_can tries events of
# every kind.

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


VARIABLE = "watch_reflex"
EXAMPLE = "{type: Preempt, action: drain}"


def reacts(rules: t.Any) -> bool:
    """Whether some rule does more than tell. Raises BadWatch."""
    try:
        return any(rule.action != TELL for rule in read_rules(rules, VARIABLE, ACTIONS, EXAMPLE, FLAGS, TELL))
    except BadRules as error:
        raise BadWatch(str(error)) from None


def reflex_settings_of(
    settings: Mapping[str, t.Any],
    rules: Sequence[Mapping[str, t.Any]],
    variables: Mapping[str, t.Any],
    resolve: Callable[[Mapping[str, t.Any], Mapping[str, t.Any]], t.Any],
    own_kinds: Mapping[str, Spec | None],
    here: str,
    more: Mapping[str, t.Any],
) -> dict[str, t.Any]:
    """The content of the file that only root reads. Of the user's `variables`, `resolve` makes steps for an event;
    `here` is the host's inventory name.
    """

    def steps_for(event: Mapping[str, t.Any]) -> list[Step]:
        return checked_steps(resolve(variables, event), own_kinds)

    def is_of_others(item: t.Any) -> bool:
        try:
            return _why_others_do_it(checked_steps([worded(item)], own_kinds)[0], own_kinds, here) is not None
        except BadSteps:
            return False

    try:
        if looking := EventUses(variables).replaced(lambda _text: LOOKED):
            check_that_nothing_looks(resolve(looking, MARKS), is_of_others)
        items = resolve(variables, MARKS)
        if isinstance(items, list):
            # A mark is no name of anything, and what others do is not done with it.
            items = [worded(item) if is_of_others(item) else item for item in items]
        checked = checked_steps(items, own_kinds)
        steps = [_step(step, number, own_kinds, here) for number, step in enumerate(checked, start=1)]
        check_that_the_host_can(checked, steps_for, [one["number"] for one in steps if not one.get("left")])
    except BadSteps as error:
        raise BadWatch(str(error)) from None
    if more["latest"] < 0:
        raise BadWatch(f"watch_reflex_latest must be a number of seconds, not {more['latest']}")
    kept = {key: settings[key] for key in settings if key != "notify"}
    return {**kept, **more, "reflex": list(rules), "steps": steps, "steps_digest": digest_of_steps(steps)}


def _step(step: Step, number: int, own_kinds: Mapping[str, Spec | None], here: str) -> dict[str, t.Any]:
    left = _why_others_do_it(step, own_kinds, here)
    if left:
        return {"number": number, "kind": step.kind, "left": f"step {number} ({step.kind}) {left}"}
    return {"number": number, "kind": step.kind, "arguments": step.arguments}


def _why_others_do_it(step: Step, own_kinds: Mapping[str, Spec | None], here: str) -> str | None:
    if step.kind in own_kinds:
        return "is a kind of your own, which needs a controller"
    if is_done_by_tasks(step.kind):
        return "needs a controller"
    if elsewhere := place_of(step.kind, step.arguments, here):
        return f"is done on {elsewhere}"
    if webhook_of_the_controller(step.kind, step.arguments):
        return "tells a webhook from the controller"
    return None
