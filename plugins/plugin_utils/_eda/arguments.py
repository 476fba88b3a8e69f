# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the event source may be told, checked where a person sees it. Pure."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint

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
        """A host with a secret of its own is not believed by that of the fleet."""
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
        return tuple(dict.fromkeys(check_endpoint(one) for one in value))
    except ValueError as error:
        raise BadArguments(str(error)) from None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
