# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps secrets out of what is shown: the values of variables and arguments that are named like one. Pure."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

# A name that sounds like a secret. Headers and bodies of webhooks often hold one.
_SECRET_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|_pass|passw|secret|token|credential|^vault_|_pw$|(api|access|private|shared|account|sas)_?key"
    r"|authorization|cookie|connection_string|^headers$|^body$",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_SIGNATURE = re.compile(r"(?i)\b(sig|token|code|key|password|secret)=[^\s&\"']+")
HIDDEN = "(hidden)"
# Shorter than that, hiding a value would tear up other words.
SHORTEST = 4


class Scrubber:
    def __init__(self, texts: Iterable[str] = ()) -> None:
        # The longest first: one may hold another.
        self.texts = sorted({text for text in texts if len(text.strip()) >= SHORTEST}, key=len, reverse=True)

    def without_secrets(self, text: str) -> str:
        for secret in self.texts:
            text = text.replace(secret, HIDDEN)
        return _SIGNATURE.sub(rf"\1={HIDDEN}", _USER_INFO.sub(HIDDEN, text))


def secrets_in(variables: Mapping[str, t.Any]) -> set[str]:
    """All texts below names that sound like a secret."""
    found: set[str] = set()

    def look(value: t.Any, is_secret: bool) -> None:
        if isinstance(value, Mapping):
            for name, inner in value.items():
                look(inner, is_secret or bool(_SECRET_NAMES.search(str(name))))
        elif isinstance(value, (list, tuple)):
            for inner in value:
                look(inner, is_secret)
        elif is_secret and isinstance(value, (str, int, float)) and not isinstance(value, bool):
            found.update({str(value), str(value).strip()})

    look(variables, False)
    return found
