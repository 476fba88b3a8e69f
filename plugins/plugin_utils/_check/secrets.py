# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps secrets out of what is shown: the values of variables and arguments that are named like one. Pure."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping

# A name that sounds like a secret. Headers and bodies of webhooks often hold one.
_SECRET_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|_pass|passw|secret|token|credential|^vault_|_pw$|(api|access|private|shared|account|sas)_?key"
    r"|authorization|cookie|connection_string|^headers$|^body$",
    re.IGNORECASE,
)
# What a check looks at begins so.
_OURS = ("ansible_", "check_", "drain_", "maintenance_", "restore_", "watch_")
# All variables, of all hosts: what is taken from them is named beside them.
OF_EVERYBODY = ("groups", "hostvars", "vars")
_NAME = re.compile(r"[A-Za-z_]\w*")
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_SIGNATURE = re.compile(r"(?i)\b(sig|token|code|key|password|secret)=[^\s&\"']+")
HIDDEN = "(hidden)"
# Shorter than that, hiding a value would tear up other words.
SHORTEST = 4


class Scrubber:
    def __init__(self, texts: Iterable[str] = ()) -> None:
        # The longest first: one may hold another.
        written = {form for text in texts for form in _as_it_is_told(text)}
        self.texts = sorted((form for form in written if len(form) >= SHORTEST), key=len, reverse=True)

    def without_secrets(self, text: str) -> str:
        for secret in self.texts:
            text = text.replace(secret, HIDDEN)
        return _SIGNATURE.sub(rf"\1={HIDDEN}", _USER_INFO.sub(HIDDEN, text))


def _as_it_is_told(text: str) -> Iterator[str]:
    """As a whole and line by line, each as a person, Python or JSON writes it."""
    for part in {text, text.strip(), *(line.strip() for line in text.splitlines())}:
        yield part.strip()
        yield repr(part)[1:-1].strip()
        yield json.dumps(part)[1:-1].strip()


def secret_leaves(
    value: t.Any, is_secret: bool = False, is_always: Callable[[t.Any], bool] = lambda _leaf: False
) -> Iterator[t.Any]:
    """All that stands below names that sound like a secret, as it is written; and what `is_always` says is one."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from secret_leaves(inner, is_secret or bool(_SECRET_NAMES.search(str(name))), is_always)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from secret_leaves(inner, is_secret, is_always)
    elif (is_secret and not isinstance(value, bool) and value is not None) or is_always(value):
        yield value


def used_names(variables: Mapping[str, t.Any]) -> set[str]:
    """The variables that a check works out: those that it knows, and what their templates name, and so on."""
    found: set[str] = set()
    to_do = [name for name in variables if str(name).startswith(_OURS)]
    while to_do:
        name = to_do.pop()
        if name in found or name in OF_EVERYBODY or name not in variables:
            continue
        found.add(name)
        for text in _templates_in(variables[name]):
            to_do += _NAME.findall(text)
    return found


def _templates_in(value: t.Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _templates_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _templates_in(inner)
    elif is_template(value):
        yield str(value)


def is_template(value: t.Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)
