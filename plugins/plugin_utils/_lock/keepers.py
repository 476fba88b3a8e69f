# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts keep the lease of a group, and in which file. Pure.

Every run comes to the same answer, whatever its pattern and limit are.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import typing as t
from collections.abc import Collection, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import host_names, natural

HOW_MANY = 3
LONGEST_NAME = 40


# By these a host says that it is a Windows host.
SIGNS_OF_WINDOWS = ("ansible_connection", "ansible_shell_type")


def windows_hosts(variables: Mapping[str, Mapping[str, t.Any]]) -> set[str]:
    """Of host -> its variables, those that say that they are Windows hosts."""
    return {
        host
        for host, known in variables.items()
        if known.get("ansible_connection") in ("winrm", "psrp")
        or known.get("ansible_shell_type") in ("powershell", "cmd")
    }


def lease_groups(
    delivery_groups: Mapping[str, str], overridden: Sequence[str] | None = None, windows: Collection[str] = ()
) -> dict[str, list[str]]:
    """Group -> its lock hosts: its first hosts in natural order, or those that the user names, for every group.

    `delivery_groups` is host -> `maintenance_delivery_group`, "" where it has none: these are one group together. Hosts
    in `windows` come last, as a call takes seconds there. Raises ValueError with a sentence for the user where
    `overridden` is no list of hosts.
    """
    members: dict[str, list[str]] = {}
    for host in sorted(delivery_groups, key=natural):
        members.setdefault(delivery_groups[host], []).append(host)
    if overridden is not None:
        # In one order for everybody, so that two runs do not take one each and wait for the other.
        chosen = sorted(host_names(overridden), key=natural)
        return {group: list(chosen) for group in sorted(members, key=natural)}
    for hosts in members.values():
        # What is sorted stays so among those that are equal.
        hosts.sort(key=lambda host: host in windows)
    return {group: members[group][:HOW_MANY] for group in sorted(members, key=natural)}


def group_path(path: str, group: str) -> str:
    """The file of a group, beside that of hosts without one, such as `run.set-web-5c1f0ab93d2e.lock`.

    A group may have any name. What is left of it there is for people; the number makes it another file.
    """
    if not group:
        return path
    readable = re.sub(r"[^A-Za-z0-9_-]+", "-", group).strip("-")[:LONGEST_NAME]
    number = hashlib.sha256(group.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    folder, name = posixpath.split(path)
    stem, ending = posixpath.splitext(name)
    return posixpath.join(folder, f"{stem}.{'-'.join(filter(None, (readable, number)))}{ending}")
