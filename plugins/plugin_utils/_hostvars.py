# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Ansible's `hostvars` to plain dicts with the few variables that are needed.

`hostvars` builds all variables of a host each time it is asked for one, and templates what is taken from it: so
each host is asked for once, and nothing is taken that is not used.
"""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterable, Mapping, Sequence

# What a template leaves behind where ansible-core before 2.19 could not resolve it.
_TEMPLATE_MARKS = ("{{", "{%")
_MARKS = (*_TEMPLATE_MARKS, "{#", "#jinja2:")


def host_names(hosts: t.Any) -> list[str]:
    """The hosts as plain text, each once, in the order given. Raises ValueError with a sentence for the user."""
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
    """Host -> those of the named variables that it has. Raises ValueError with a sentence for the user.

    `texts` are variables that may hold anything, such as an error message or a word that users have for other things:
    they are never a reason to fail, and those that are no templates are taken as they are, which costs little.
    """
    if not isinstance(hostvars, Mapping):
        raise ValueError(f"Expected hostvars, not {type(hostvars).__name__}")
    found: dict[str, dict[str, t.Any]] = {}
    for host in hosts:
        if host not in hostvars:
            # A play would leave it out in silence, and every later host would slip into the batch before its own.
            raise ValueError(f"There is no host {host} in the inventory")
        variables = hostvars[host]
        own = found[host] = {}
        for name in names:
            if name in variables:
                value = own[name] = variables[name]
                if isinstance(value, str) and any(mark in value for mark in _TEMPLATE_MARKS):
                    raise ValueError(f"{name} of host {host} is a template that can't be resolved: {value[:120]}")
        # Some versions of ansible-core make a templar for each word: too slow for 10,000 hosts.
        raw = getattr(variables, "_vars", {})
        for name in texts:
            if name in variables:
                # Whatever the reason why a template can't be resolved: pure code imports this, so none of Ansible's.
                with contextlib.suppress(Exception):
                    own[name] = raw[name] if _is_plain(raw.get(name)) else variables[name]
    return found


def _is_plain(value: t.Any) -> bool:
    return isinstance(value, str) and not any(mark in value for mark in _MARKS)
