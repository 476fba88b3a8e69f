# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain data: times, words and lists for people, and variables of hosts."""

from __future__ import annotations

import contextlib
import functools
import re
import textwrap
import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence

from ...module_utils._azure import documents as _documents

iso_time: Callable[[float], str] = _documents.iso


def seconds_of(text: t.Any) -> float | None:
    """Return seconds since 1970 for a time in any format of Azure or in ours, else None."""
    return _parsed(text) if isinstance(text, str) else None


# The readings of a fleet repeat a few timestamps thousands of times.
_parsed: Callable[[str], float | None] = functools.lru_cache(maxsize=4096)(_documents.timestamp)


# With the blanks, quotes and comma that Ansible puts around a line, this fits into 80 columns.
LINE_WIDTH = 69
_DIGITS = re.compile(r"\d+")


def clock(seconds: float) -> str:
    """Format a countdown in minutes and seconds, longer times in coarser units."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes_left = divmod(minutes, 60)
    days, hours_left = divmod(hours, 24)
    if days:
        return f"{days} d {hours_left} h"
    return f"{hours} h {minutes_left} min" if hours else f"{minutes}:{rest:02d} min"


def wrapped(text: str, width: int = LINE_WIDTH, indent: int = 0) -> list[str]:
    """Return lines of at most `width` characters, as far as long names allow."""
    return textwrap.wrap(
        printable(text, " "),
        max(width, 40),
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def printable(text: t.Any, instead: str = "?") -> str:
    """Replace unprintable characters, as text from Azure or a host may hold control sequences for a terminal."""
    return "".join(letter if letter.isprintable() else instead for letter in str(text))


def in_words(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def some_of(words: list[str], most: int = 5) -> str:
    return ", ".join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def natural(name: str) -> str:
    """Return a key that sorts web-2 before web-10: a string, as strings compare much faster than tuples."""
    return _DIGITS.sub(_padded, name) + "\0" + name


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(12)


# `hostvars` builds all variables of a host on each access, and resolves what is taken from it: so each host is accessed
# once, and only what is used is taken.

# Left in a text where ansible-core before 2.19 could not resolve a template.
_TEMPLATE_MARKS = ("{{", "{%")
_MARKS = (*_TEMPLATE_MARKS, "{#", "#jinja2:")


def host_names(hosts: t.Any) -> list[str]:
    """Return the hosts as plain text, each once, in the order given. Raises ValueError with a sentence for the user."""
    if isinstance(hosts, (str, bytes, Mapping)) or not isinstance(hosts, Iterable):
        raise ValueError(f"Expected a list of host names, not {type(hosts).__name__}: {str(hosts)[:80]!r}")
    names = list(hosts)
    for name in names:
        if not isinstance(name, str):
            raise ValueError(f"Expected a list of host names, but it holds {name!r}")
    return list(dict.fromkeys(map(str.__str__, names)))


def needed_vars(
    hosts: Iterable[str], hostvars: t.Any, names: Sequence[str], texts: Sequence[str] = ()
) -> dict[str, dict[str, t.Any]]:
    """Map each host to those of the named variables that it has. Raises ValueError with a sentence for the user.

    `texts` are variables that may hold anything, such as an error message, or that users may have for other things:
    they are never a reason to fail, and those without a template are taken unresolved, which is cheap.
    """
    if not isinstance(hostvars, Mapping):
        raise ValueError(f"Expected hostvars, not {type(hostvars).__name__}")
    found: dict[str, dict[str, t.Any]] = {}
    for host in hosts:
        if host not in hostvars:
            # A play would skip it silently, and every later host would move into the batch before its own.
            raise ValueError(f"There is no host {host} in the inventory")
        variables = hostvars[host]
        own = found[host] = {}
        for name in names:
            if name in variables:
                value = own[name] = variables[name]
                if isinstance(value, str) and any(mark in value for mark in _TEMPLATE_MARKS):
                    raise ValueError(f"{name} of host {host} is a template that can't be resolved: {value[:120]}")
        # Some versions of ansible-core create a templar for each text: too slow for 10,000 hosts.
        raw = getattr(variables, "_vars", {})
        for name in texts:
            if name in variables:
                # Any exception of a template: pure code imports this file, so it can't import those of Ansible.
                with contextlib.suppress(Exception):
                    own[name] = raw[name] if _is_plain(raw.get(name)) else variables[name]
    return found


def _is_plain(value: t.Any) -> bool:
    return isinstance(value, str) and not any(mark in value for mark in _MARKS)
