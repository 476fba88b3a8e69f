# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a machine is reached, and what it offers there: the area `way`. Pure."""

from __future__ import annotations

import dataclasses
import re

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import Finding, bad, doubtful, good

# A run goes to each host some ten times.
SLOW_CALL = 2.0
OLDEST_PYTHON = (3, 6)


@dataclasses.dataclass(frozen=True)
class Way:
    """What was seen on the way to a machine."""

    connection: str
    # The family of its shell: sh, powershell, cmd.
    shell: str
    # How long one small command takes.
    seconds: float
    has_curl: bool = False
    # The version of Python that ran our code there; None where none did, and then why.
    python: str | None = None
    problem: str = ""
    # Whether it took a module, with files that are copied, as one command did not work.
    by_module: bool = False
    # Such as "sudo to root"; nothing where no become is set.
    become: str = ""
    user: str = ""


def about_way(way: Way) -> list[Finding]:
    return [_reached(way), _which(way), _python(way), _become(way)]


def not_reached(why: str) -> Finding:
    do = "Try `ansible HOST -m ping`, and look at ansible_host, ansible_user, keys and the firewall"
    return bad("way", "reach", why, do)


def _reached(way: Way) -> Finding:
    seen = f"by {way.connection}, a call takes {way.seconds:.2f} s"
    if way.seconds > SLOW_CALL:
        do = "A run goes to each host some ten times: look at the network, ControlPersist and pipelining"
        return doubtful("way", "reach", seen, do)
    return good("way", "reach", seen)


def _which(way: Way) -> Finding:
    point = "how our code gets there"
    if way.shell == "powershell":
        return good("way", point, "PowerShell")
    ways = (["one command"] if way.python and not way.by_module else []) + (["curl"] if way.has_curl else [])
    if way.by_module and way.python:
        do = "Each task copies files: set pipelining, and ansible_python_interpreter to a Python that takes -c"
        return doubtful("way", point, " and ".join(["a module", *ways]), do)
    if ways:
        return good("way", point, " and ".join(ways))
    return bad("way", point, f"neither Python nor curl: {way.problem}", "Install python3, or curl and od, on the host")


def _python(way: Way) -> Finding:
    if way.shell == "powershell":
        return good("way", "Python", "not needed")
    if way.python is None:
        do = "Install python3 on the host: its journal and its drain steps need it"
        return bad("way", "Python", f"none that runs: {way.problem}" if way.problem else "none that runs", do)
    version = tuple(int(number) for number in re.findall(r"\d+", way.python)[:2])
    if version < OLDEST_PYTHON:
        do = "Set ansible_python_interpreter to Python 3.6 or newer"
        return bad("way", "Python", way.python, do)
    return good("way", "Python", way.python)


def _become(way: Way) -> Finding:
    how = f"{way.become}, and then it is {way.user or 'not known who'}" if way.become else f"none, as {way.user or '?'}"
    return good("way", "become", how)


def about_journal_folder(problem: str, user: str) -> Finding:
    point = "the journal can be written"
    if problem:
        return bad("way", point, problem, "Use become, or set drain_journal to a path that this user may write")
    return good("way", point, f"by {user}")
