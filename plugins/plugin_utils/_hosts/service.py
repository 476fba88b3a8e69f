# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service of one host as the rest of the controller's code sees it, whoever carries them. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True)
class DocumentReading:
    """One good reading: what it means, and the document itself, by which a later one is recognised as the same.

    Of a reading of an earlier task there is the digest alone.
    """

    status: dict[str, t.Any]
    document: str
    vm_name: str
    document_sha256: str | None = None


@dataclasses.dataclass(frozen=True)
class Sent:
    """What came of sending an approval: the reading right before it, and whether the service took it.

    Neither sent nor a problem: the document was another one than the approval was decided on, so nothing was sent.
    """

    reading: DocumentReading
    sent: bool = False
    problem: str = ""
    unclear: bool = False


class Unreachable(Exception):
    """The host could not be reached, or contact was lost on the way: what was sent may have arrived."""


class Silent(Unreachable):
    """The host took a command and never answered: it hangs, which is not what a VM does that boots."""


class Unanswered(Exception):
    """The host was reached, but the service gave no good answer. `result` is what its host half said instead."""

    def __init__(self, message: str, result: Mapping[str, t.Any] | None = None) -> None:
        super().__init__(message)
        self.result = result or {}


class RefusedByHost(Exception):
    """The host was reached, is the fence, and did nothing. `word` says why."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class Service(t.Protocol):
    def read(self, seconds: float | None = None) -> DocumentReading: ...

    def approve(self, decided_on: DocumentReading, event_ids: list[str]) -> Sent: ...

    def reconnect(self) -> None: ...
