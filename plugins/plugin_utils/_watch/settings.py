# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the watcher, and of its reflexes."""

from __future__ import annotations

import ipaddress
import re
import typing as t
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from ...module_utils._azure import http
from ...module_utils._azure.rules import BadRules, read_rules
from ...module_utils._steps import machine
from ...module_utils._watcher import decide
from ...module_utils._watcher.protocol import SHORTEST_INTERVAL
from .._common import ansible
from .._common.text import some_of
from .._steps import kinds, validate
from .._steps.validate import BadSteps

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
        return str(http.check_endpoint(endpoint))
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
    if problem := machine.bad_web_address(given["url"], headers):
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


# A host knows no templates: it puts what it knows of an event in the place of `{{ maintenance_event.KEY }}`, and no
# more. So exactly that becomes a mark, in the steps themselves, wherever they are written. Everything else is resolved
# here, without an event: a text that needs one fails.

EVENT, STEPS = "maintenance_event", "drain_steps"
_FILLED_IN = ("checkpoint", "command", "failover", "log")
# In the place of a text that needs an event in a step that a run does.
_LEFT = decide.MARK_SIGN + "Left" + decide.MARK_SIGN
_ANY_MARK = re.compile(f"{decide.MARK_SIGN}[^{decide.MARK_SIGN}]*{decide.MARK_SIGN}")
_EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_KEY_OF_EVENT = re.compile(rf"\{{\{{ *{EVENT}\.({'|'.join(decide.KEYS)}) *\}}\}}")
_WORD = re.compile(r"\w+")
_NO_EVENT = f"there is no {EVENT} yet"
# Unlike something undefined, it is an error for the filter `default` and in conditions, too.
_FAILS = f"{{{{ undef() | mandatory(msg='{_NO_EVENT}') }}}}"
_WHAT_TO_DO = (
    f"uses {EVENT} in a way that a host can't fill in by itself. It fills in {{{{ {EVENT}.KEY }}}}, written like"
    " that in the step itself: in log.message, or as a whole word of a command that is given as a list. The keys are"
    f" {', '.join(decide.KEYS)}. Have your command decide, or make it a step of the kind tasks, which a run does"
)

Path: t.TypeAlias = tuple[t.Any, ...]
# Resolves `drain_steps` of these variables. Raises BadSteps.
Resolve: t.TypeAlias = Callable[[Mapping[str, t.Any]], t.Any]


def reflex_steps(variables: Mapping[str, t.Any], resolve: Resolve, kinds_of_runs: Container[t.Any]) -> t.Any:
    """Resolve the steps, not checked yet, with marks for what a host fills in. Raises BadWatch or BadSteps.

    `variables` are as the user has written them; the `kinds_of_runs` are never done by the host.
    """
    names = [STEPS, *_reached(variables.get(STEPS), variables)]
    marked = {name: _marked(variables[name], kinds_of_runs) for name in names if name in variables}
    without_event = {**variables, **marked, EVENT: ansible.as_template(_FAILS)}
    try:
        return resolve(without_event)
    except BadSteps as error:
        if _NO_EVENT not in str(error):
            raise
    steps = without_event[STEPS]
    for number, item in enumerate(steps if isinstance(steps, list) else [], start=1):
        try:
            resolve({**without_event, STEPS: [item]})
        except BadSteps:
            kind = f" ({next(iter(item))})" if isinstance(item, dict) and item else ""
            raise _refusal(f"{STEPS}, step {number}{kind}", item, without_event) from None
    raise _refusal(STEPS, steps, without_event)


def _refusal(where: str, value: t.Any, variables: Mapping[str, t.Any]) -> BadWatch:
    used = [".".join(map(str, path[1:])) or "it" for path, text in texts_in(value) if _asks_for_event(text)]
    for name in _reached(value, variables):
        found = texts_in(variables[name], (name,)) if name != EVENT else ()
        used += [f"the variable {'.'.join(map(str, path))}" for path, text in found if _asks_for_event(text)]
    return BadWatch(f"{where}: {some_of(used, 3) or 'a variable that it looks up'} {_WHAT_TO_DO}")


def _marked(value: t.Any, kinds_of_runs: Container[t.Any]) -> t.Any:
    if isinstance(value, list):
        return [_marked(one, kinds_of_runs) for one in value]
    if not isinstance(value, dict):
        return value
    kind = next(iter(value)) if len(value) == 1 else None
    if kind in kinds_of_runs:
        return with_texts(value, lambda text: _LEFT if _asks_for_event(text) else text)
    if kind in _FILLED_IN:
        return with_texts(value, _with_marks)
    return {name: _marked(one, kinds_of_runs) for name, one in value.items()}


def _with_marks(text: str) -> str:
    # Blocks could make something else of a mark, and a header may set other delimiters.
    if EVENT not in text or "{%" in text or text.startswith(ansible.HEADER) or not ansible.is_template(text):
        return text
    return ansible.as_template(
        _EXPRESSION.sub(lambda found: _KEY_OF_EVENT.sub(lambda key: decide.MARK % key[1], found[0]), text)
    )


def _asks_for_event(text: str) -> bool:
    return ansible.could_be_a_template(text) and EVENT in _WORD.findall(text)


def _reached(value: t.Any, variables: Mapping[str, t.Any]) -> list[str]:
    """List the variables that have a part in it, by the words in its templates."""
    found: list[str] = []
    left = [value]
    while left:
        texts = [text for _path, text in texts_in(left.pop(0)) if ansible.could_be_a_template(text)]
        words = dict.fromkeys(word for text in texts for word in _WORD.findall(text))
        # Of `vars`, which holds all of them, the words say which one.
        names = [word for word in words if word in variables and word not in found and word != "vars"]
        found += names
        left += [variables[name] for name in names]
    return found


def _check_places_of_marks(steps: Sequence[Mapping[str, t.Any]]) -> None:
    for step in steps:
        for path, text in texts_in(step.get("arguments")):
            if decide.MARK_SIGN in text and not _is_filled_in_on_the_host(step["kind"], path, text):
                where = f"{STEPS}, step {step['number']} ({step['kind']}): {'.'.join(map(str, path))}"
                raise BadWatch(f"{where} {_WHAT_TO_DO}")


def _is_filled_in_on_the_host(kind: str, path: Path, text: str) -> bool:
    marks = [decide.MARK % key for key in decide.KEYS]
    if kind == "log" and path in (("message",), ("restore_message",)):
        for mark in marks:
            text = text.replace(mark, "")
        return decide.MARK_SIGN not in text
    # A word of a list: the last part of the path is its position.
    return kind != "log" and isinstance(path[-1], int) and text in marks


def texts_in(value: t.Any, path: Path = ()) -> Iterable[tuple[Path, str]]:
    """Each text and where it is."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from texts_in(one, (*path, name))
    elif isinstance(value, (list, tuple)):
        for number, one in enumerate(value):
            yield from texts_in(one, (*path, number))
    elif isinstance(value, str):
        yield path, value


def with_texts(value: t.Any, put: Callable[[str], t.Any]) -> t.Any:
    """The same with each text replaced. One that stays is the same object: Ansible knows by it where it is from."""
    if isinstance(value, dict):
        return {name: with_texts(one, put) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(one, put) for one in value]
    return put(value) if isinstance(value, str) else value


VARIABLE = "watch_reflex"
EXAMPLE = "{type: Preempt, action: drain}"


def reacts(rules: t.Any) -> bool:
    """Whether some rule does more than tell. Raises BadWatch."""
    try:
        return any(
            rule.action != decide.TELL
            for rule in read_rules(rules, VARIABLE, decide.ACTIONS, EXAMPLE, decide.FLAGS, decide.TELL)
        )
    except BadRules as error:
        raise BadWatch(str(error)) from None


def reflex_settings_of(
    settings: Mapping[str, t.Any],
    rules: Sequence[Mapping[str, t.Any]],
    variables: Mapping[str, t.Any],
    resolve: Resolve,
    own_kinds: Mapping[str, kinds.Spec | None],
    here: str,
    more: Mapping[str, t.Any],
) -> dict[str, t.Any]:
    """The content of the file that only root reads. `here` is the host's inventory name."""
    try:
        items = reflex_steps(variables, resolve, (*own_kinds, *filter(kinds.is_done_by_tasks, kinds.SPECS)))
        # A mark is no name of anything, and what others do is not done with it.
        others = [
            _why_others_do_it(step, own_kinds, here) for step in validate.checked_steps(_worded(items), own_kinds)
        ]
        mine = [_worded(item) if why else item for item, why in zip(items, others, strict=True)]
        checked = validate.checked_steps(mine, own_kinds)
    except BadSteps as error:
        raise BadWatch(str(error)) from None
    steps = [_step(*one, number) for number, one in enumerate(zip(checked, others, strict=True), start=1)]
    _check_places_of_marks(steps)
    if more["latest"] < 0:
        raise BadWatch(f"watch_reflex_latest must be a number of seconds, not {more['latest']}")
    kept = {key: settings[key] for key in settings if key != "notify"}
    return {**kept, **more, "reflex": list(rules), "steps": steps, "steps_digest": decide.digest_of_steps(steps)}


def _step(step: kinds.Step, why_others_do_it: str | None, number: int) -> dict[str, t.Any]:
    if why_others_do_it:
        return {"number": number, "kind": step.kind, "left": f"step {number} ({step.kind}) {why_others_do_it}"}
    return {"number": number, "kind": step.kind, "arguments": step.arguments}


def _worded(value: t.Any) -> t.Any:
    """Put a word in the place of marks that does as a name and as a number."""
    return with_texts(value, lambda text: _ANY_MARK.sub("1", text))


def _why_others_do_it(step: kinds.Step, own_kinds: Mapping[str, kinds.Spec | None], here: str) -> str | None:
    if step.kind in own_kinds:
        return "is a kind of your own, which needs a controller"
    if kinds.is_done_by_tasks(step.kind):
        return "needs a controller"
    if elsewhere := kinds.place_of(step.kind, step.arguments, here):
        return f"is done on {elsewhere}"
    if kinds.webhook_of_the_controller(step.kind, step.arguments):
        return "tells a webhook from the controller"
    return None
