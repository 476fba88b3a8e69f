# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in front of a VM's metadata service that never says the same in the same bytes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping

from helpers.network import http_server
from helpers.simulator_process import ask


def as_it_is(body: bytes, number: int) -> bytes:
    """The same data: only the blanks behind it grow."""
    return body + b" " * number


@contextlib.contextmanager
def restless_service(endpoint: str, told: Callable[[bytes, int], bytes] = as_it_is) -> Iterator[str]:
    """Its address. `told` makes the body of an answer from that of the service behind it and from how many came."""
    numbers = itertools.count(1)

    def answer(method: str, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        found = ask(endpoint + path, method, body or None, {"Metadata": "true"})
        return found.status, told(found.body, next(numbers))

    with http_server(answer) as address:
        yield address
