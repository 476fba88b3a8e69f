# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One notice of a watcher, as far as it is believed: that a look is worth while. Pure."""

from __future__ import annotations

import dataclasses
import hmac
import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import json_of
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.notify import signature
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    BadReading,
    canonical_id,
    known_of_status,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import seconds_of

# It stands in the log, in --limit, and in the names of groups.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
LONGEST_NAME = 253
# A document has the events of one group, which has a few hundred VMs at most. Those that come first are enough to start
# a run, which reads all of them.
MOST_EVENTS = 200
# What Azure may add to its documents one day is as flat as all else there.
DEEPEST_FIELD = 4
LONGEST_TEXT = 4096
_LARGEST_NUMBER = 2**53


class BadNotice(ValueError):
    """What was sent is no notice. The text is for the log."""


@dataclasses.dataclass(frozen=True)
class Notice:
    host: str
    sent_at: float
    sequence: int
    # What was read, as `known_of_status` gives it; None before the first good reading.
    status: Mapping[str, t.Any] | None = None
    # The ids of the events that it says to be named by, for one that does not know what its VM is called.
    named_in: frozenset[str] = frozenset()
    drained: bool = False
    # Until when a run has said that it is at work on the host.
    run_until: float | None = None


def is_name(text: t.Any) -> bool:
    return isinstance(text, str) and len(text) <= LONGEST_NAME and bool(_NAME.fullmatch(text))


def is_signed(secrets: Iterable[str], given: str, at: int, host: str, body: bytes) -> bool:
    """Whether one of the secrets made this signature. All are tried, so that the time tells nothing about which."""
    right = [hmac.compare_digest(signature(one, at, host, body).encode(), given.encode()) for one in secrets]
    return any(right)


def understand(body: bytes, host: str) -> Notice:
    """`host` is who the sender says to be. Raises BadNotice."""
    try:
        about = json_of(body.decode("utf-8-sig"))["maintenance"]
        name, sequence, status = about["host"], about["sequence"], about.get("status")
        sent_at, run_until = seconds_of(about["sent_at"]), seconds_of(about.get("run_until"))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise BadNotice("the body is no notice") from None
    if name != host:
        raise BadNotice("the body speaks for another host than the header")
    if (
        sent_at is None
        or isinstance(sequence, bool)
        or not isinstance(sequence, int)
        or abs(sequence) > _LARGEST_NUMBER
    ):
        raise BadNotice("sent_at or sequence is missing")
    if status is None:
        return Notice(host, sent_at, sequence, run_until=run_until)
    try:
        known = known_of_status(status)
    except BadReading as error:
        raise BadNotice(str(error)) from None
    except (OverflowError, RecursionError):
        raise BadNotice("the status is none that a watcher writes") from None
    known["events"] = [tellable(event) for event in sorted(known["events"], key=_when)[:MOST_EVENTS]]
    watcher = status.get("watcher")
    drained = isinstance(watcher, dict) and watcher.get("drained") is True
    named_in = frozenset(canonical_id(one["id"]) for one in status["events"] if one.get("affects_this_host") is True)
    return Notice(host, sent_at, sequence, known, named_in, drained, run_until)


def _when(event: Mapping[str, t.Any]) -> tuple[bool, str]:
    """By date; those without one, which may have started, first."""
    return event["not_before"] is not None, event["not_before"] or ""


def tellable(event: dict[str, t.Any]) -> dict[str, t.Any]:
    """Without what no rule could be told: whatever a VM adds, the source goes on, and so do the rules."""
    kept = {key: value[:LONGEST_TEXT] if isinstance(value, str) else value for key, value in event.items()}
    if not _is_plain(kept["duration_seconds"], 0):
        kept["duration_seconds"] = None
    if "other_fields" in kept and not _is_plain(kept["other_fields"], DEEPEST_FIELD):
        del kept["other_fields"]
    return kept


def _is_plain(value: t.Any, deepest: int) -> bool:
    if isinstance(value, (dict, list)):
        inner = [*value, *value.values()] if isinstance(value, dict) else value
        return deepest > 0 and all(_is_plain(one, deepest - 1) for one in inner)
    if isinstance(value, str):
        return len(value) <= LONGEST_TEXT
    if isinstance(value, (int, float)):
        # Neither what is no number nor what is without end, and nothing that another program can't count to.
        return abs(value) <= _LARGEST_NUMBER
    return value is None
