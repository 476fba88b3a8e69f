# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices of watchers: arguments of the source, signatures and limits."""

from __future__ import annotations

import collections
import dataclasses
import hmac
import ipaddress
import re
import typing as t
from collections.abc import Iterable, Mapping

from ...module_utils._azure import documents, http
from ...module_utils._watcher.notify import signature
from .._azure import events as azure
from .._common.text import seconds_of

EVERYWHERE, LOOPBACK = "0.0.0.0", "127.0.0.1"  # noqa: S104 - who speaks is known by the signature
# ansible-rulebook hands this over to sources that ask for it; it is no argument of the user.
_NOT_OF_THE_USER = ("eda_feedback_queue",)


class BadArguments(ValueError):
    """The arguments of the source can't be used. The text is for the user."""


@dataclasses.dataclass(frozen=True)
class SourceArguments:
    """Seconds are numbers. `secrets` of a host come before `secret`, the newest first in both."""

    host: str = EVERYWHERE
    port: int = 5010
    secret: tuple[str, ...] = ()
    secrets: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    certfile: str | None = None
    keyfile: str | None = None
    settle: float = 2
    remind: float = 60
    silent_after: float = 90
    max_skew: float = 300
    state_file: str | None = None
    endpoints: tuple[str, ...] = ()
    interval: float = 5

    @property
    def listens(self) -> bool:
        """Who reads endpoints and has no secret expects no notices."""
        return bool(self.secret or self.secrets) or not self.endpoints

    def secrets_of(self, host: str) -> tuple[str, ...]:
        """A host with a secret of its own is not trusted with that of the fleet."""
        return self.secrets.get(host, self.secret)


def arguments_of(given: Mapping[str, t.Any]) -> SourceArguments:
    """Raises BadArguments."""
    known = [field.name for field in dataclasses.fields(SourceArguments)]
    wanted = {key: value for key, value in given.items() if value is not None and key not in _NOT_OF_THE_USER}
    unknown = [str(key) for key in wanted if key not in known]
    if unknown:
        raise BadArguments(f"there is no argument {', '.join(unknown)}; known are {', '.join(known)}")
    checked: dict[str, t.Any] = {}
    for key in ("host", "certfile", "keyfile", "state_file"):
        if key in wanted:
            checked[key] = _text(key, wanted[key])
    for key in ("settle", "remind", "silent_after", "max_skew", "interval"):
        if key in wanted:
            checked[key] = _seconds(key, wanted[key], may_be_zero=key == "settle")
    if "port" in wanted:
        checked["port"] = _port(wanted["port"])
    if "secret" in wanted:
        checked["secret"] = _secrets("secret", wanted["secret"])
    if "secrets" in wanted:
        checked["secrets"] = _by_host(wanted["secrets"])
    if "endpoints" in wanted:
        checked["endpoints"] = _endpoints(wanted["endpoints"])
    if bool(checked.get("certfile")) != bool(checked.get("keyfile")):
        raise BadArguments("certfile and keyfile belong together: give both for HTTPS, or none")
    is_open = not (checked.get("secret") or checked.get("secrets"))
    if is_open and not _is_loopback(checked.setdefault("host", LOOPBACK)):
        raise BadArguments(
            "without a secret anybody could speak for a host, so that the source listens on loopback only: set secret,"
            f" or leave out host ({checked['host']})"
        )
    return SourceArguments(**checked)


def _text(key: str, value: t.Any) -> str:
    if not isinstance(value, str) or not value:
        raise BadArguments(f"{key} must be a text, not {value!r}")
    return value


def _number(value: t.Any) -> float | None:
    """A template of a rulebook may give a number as a text."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _seconds(key: str, value: t.Any, may_be_zero: bool) -> float:
    number = _number(value)
    if number is None or not (0 < number < 1e9 or (may_be_zero and number == 0)):
        raise BadArguments(f"{key} must be a number of seconds, not {value!r}")
    return number


def _port(value: t.Any) -> int:
    number = _number(value)
    if number is None or not 0 <= number <= 65535 or number != int(number):
        raise BadArguments(f"port must be a number from 0 to 65535, not {value!r}")
    return int(number)


def _secrets(key: str, value: t.Any) -> tuple[str, ...]:
    several = value if isinstance(value, list) else [value]
    # Numbers are what a template makes of digits.
    texts = [str(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in several]
    if not texts or not all(isinstance(one, str) and one for one in texts):
        raise BadArguments(f"{key} must be a text, or a list of texts, and none of them empty")
    return tuple(texts)


def _by_host(value: t.Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise BadArguments("secrets must be a mapping from the name of a host to its secret")
    return {str(host): _secrets(f"secrets of {host}", one) for host, one in value.items()}


def _endpoints(value: t.Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadArguments("endpoints must be a list of addresses, such as http://169.254.169.254")
    try:
        return tuple(dict.fromkeys(http.check_endpoint(one) for one in value))
    except ValueError as error:
        raise BadArguments(str(error)) from None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


# A name stays for as long as it can, as a run may hold the lock. Where it errs two groups wait for each other, or two
# runs meet, and the lease of the run keeps them apart.

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_AFTER_A_HOST = "group-of-"


def name_by_azure(identity: Mapping[str, t.Any] | None) -> str | None:
    """What Azure calls it, as far as the VM knows; single VMs and availability sets have no name there."""
    if not identity:
        return None
    for key in ("scale_set", "placement_group"):
        if name := without_odd_signs(str(identity.get(key) or "")):
            return name
    return None


def without_odd_signs(text: str) -> str:
    """What is left of it as a name: no template, no blank, no sign of a pattern of hosts."""
    return _NOT_IN_A_NAME.sub("-", text).strip("-._")


def name_after(host: str) -> str:
    return _AFTER_A_HOST + host


def is_after_a_host(name: str) -> bool:
    """Whether it was made up for want of better."""
    return name.startswith(_AFTER_A_HOST)


@dataclasses.dataclass
class Allowance:
    """So many at once, and so many a second in the long run, for each key. What is not used up is forgotten."""

    at_once: float
    a_second: float
    _left: dict[object, tuple[float, float]] = dataclasses.field(default_factory=dict)
    _cleared_at: float = 0.0

    def has(self, key: object, now: float) -> bool:
        """Whether one would be taken."""
        return self._left_of(key, now) >= 1

    def takes(self, key: object, now: float) -> bool:
        if now - self._cleared_at > self.at_once / self.a_second:
            self._clear(now)
        left = self._left_of(key, now)
        self._left[key] = (left - 1, now) if left >= 1 else (left, now)
        return left >= 1

    def _left_of(self, key: object, now: float) -> float:
        left, at = self._left.get(key, (self.at_once, now))
        return min(self.at_once, left + (now - at) * self.a_second)

    def _clear(self, now: float) -> None:
        self._cleared_at = now
        full_after = self.at_once / self.a_second
        self._left = {key: (left, at) for key, (left, at) in self._left.items() if now - at < full_after}


class SeenSignatures:
    """Each may be used once, for as long as its time is within the window."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._order: collections.deque[tuple[float, str]] = collections.deque()

    def is_new(self, signature: str, good_until: float, now: float) -> bool:
        # Roughly in the order of their times: one that came early waits for those before it, and does no harm.
        while self._order and self._order[0][0] < now:
            self._seen.discard(self._order.popleft()[1])
        if signature in self._seen:
            return False
        self._seen.add(signature)
        self._order.append((good_until, signature))
        return True


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
        about = documents.json_of(body.decode("utf-8-sig"))["maintenance"]
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
        known = azure.known_of_status(status)
    except azure.BadReading as error:
        raise BadNotice(str(error)) from None
    except (OverflowError, RecursionError):
        raise BadNotice("the status is none that a watcher writes") from None
    known["events"] = [tellable(event) for event in sorted(known["events"], key=_when)[:MOST_EVENTS]]
    watcher = status.get("watcher")
    drained = isinstance(watcher, dict) and watcher.get("drained") is True
    named_in = frozenset(
        azure.canonical_id(one["id"]) for one in status["events"] if one.get("affects_this_host") is True
    )
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
