# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a lock that is kept on several hosts is held: by a majority of them, or not at all."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.owner import in_words
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import natural


def choose_keepers(hosts: Iterable[str], count: int | None = None) -> list[str]:
    """The first of these hosts, in an order that is the same for every run, so that two never wait for each other."""
    return sorted(set(hosts), key=natural)[:count]


def verdict(results: Sequence[Mapping[str, t.Any]], now: str, unbroken: bool = False) -> dict[str, t.Any]:
    """What the results of run_lock on every keeper mean together.

    `now` is the time of the controller as in 2026-11-16T00:20:32Z. With `unbroken` only those keepers count that had
    this run's lock already: where a majority did, nobody else can have had a majority since.
    """
    if not results:
        raise ValueError("there is no keeper")
    counted = "renewed" if unbroken else "held"
    needed = len(results) // 2 + 1
    keepers: dict[str, str] = {}
    counts = 0
    for result in results:
        state = _state(result, now)
        keepers[keeper_of(result)] = state
        counts += state == "held" and bool(result.get(counted))
    others = [result["holder"] for result in results if _state(result, now) == "busy"]
    before = [result["took_over_from"] for result in results if result.get("took_over_from")]
    held = counts >= needed
    return {
        "held": held,
        "changed": any(result.get("changed") for result in results),
        "keepers": keepers,
        "holder": others[0] if others else None,
        "took_over_from": before[0] if before else None,
        "msg": _sentence(held, counts, needed, keepers, others, before, unbroken),
    }


def keeper_of(result: Mapping[str, t.Any]) -> str:
    """The host of one result of a loop. An item may be a list that begins with the host."""
    item = result[result.get("ansible_loop_var", "item")]
    return str(item if isinstance(item, str) else item[0])


def _state(result: Mapping[str, t.Any], now: str) -> str:
    if result.get("unreachable"):
        return "unreachable"
    if "held" not in result:
        return str(result.get("msg") or "no answer")
    if not result["held"]:
        return "busy" if result.get("holder") else "free"
    # It was taken before we waited for another keeper, and may have ended since.
    return "held" if result.get("good_until", "") > now else "expired"


def _sentence(
    held: bool,
    counts: int,
    needed: int,
    keepers: Mapping[str, str],
    others: Sequence[Mapping[str, t.Any]],
    before: Sequence[Mapping[str, t.Any]],
    unbroken: bool,
) -> str:
    where = ", ".join(f"{keeper}: {state}" for keeper, state in keepers.items())
    if held:
        over = ""
        if before:
            why = "whose process is dead" if before[0].get("reason") == "dead" else "which has expired"
            over = f" It was taken over from {in_words(before[0])}, {why}."
        return f"The run lock is held ({where}).{over}"
    count = f"{counts} of {len(keepers)} keepers hold it for this run and it takes {needed} ({where})"
    if unbroken:
        since = f" Now it is held by {in_words(others[0])}." if others else ""
        return (
            f"This run has lost the run lock: {count}.{since} Another run may have been at work since. Start this one"
            " again when no other is at work; if that repeats itself, raise maintenance_lock_expires"
        )
    if others:
        return (
            f"Another run is at work: the run lock is held by {in_words(others[0])}. Wait until that run has ended,"
            f" or have this one wait for it with maintenance_lock_wait; {count}"
        )
    return (
        f"The run lock can't be taken: {count}. Bring the others back, or name other hosts in maintenance_lock_hosts,"
        " the same for every run"
    )
