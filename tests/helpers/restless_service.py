# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A service in front of a VM's metadata service that never says the same in the same bytes."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping

from helpers.network import http_server
from helpers.simulator_process import ask


@contextlib.contextmanager
def restless_service(endpoint: str) -> Iterator[str]:
    """Its address. The data are the same: only the blanks behind them grow with each answer."""
    numbers = itertools.count(1)

    def answer(method: str, path: str, _headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        found = ask(endpoint + path, method, body or None, {"Metadata": "true"})
        return found.status, found.body + b" " * next(numbers)

    with http_server(answer) as address:
        yield address
