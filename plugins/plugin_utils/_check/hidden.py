# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the variables of hosts must not be told, as it is when it was worked out and decrypted."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from ansible.errors import AnsibleError
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.secrets import (
    OF_EVERYBODY,
    Scrubber,
    is_template,
    secret_leaves,
    used_names,
)

_ENCRYPTED: tuple[type, ...]
try:
    from ansible.parsing.vault import EncryptedString

    _ENCRYPTED = (EncryptedString,)
except ImportError:
    # Before ansible-core 2.19.
    from ansible.parsing.yaml.objects import AnsibleVaultEncryptedUnicode

    _ENCRYPTED = (AnsibleVaultEncryptedUnicode,)


class Hidden:
    """Collects it, from one host after the other."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        # Hosts share what a group has, and to decrypt takes its time.
        self._decrypted: dict[str, str] = {}

    def scrubber(self) -> Scrubber:
        return Scrubber(self.texts)

    def add(self, variables: Mapping[str, t.Any], resolve: Callable[[t.Any], t.Any]) -> None:
        """`variables` as they are written; `resolve` works a template out, and may raise AnsibleError.

        Of templates only those are worked out that the check needs anyway: to work one out may ask a vault, or
        even make a password.
        """
        used: set[str] | None = None
        for name, value in variables.items():
            own = {} if name in OF_EVERYBODY else {name: value}
            for leaf in secret_leaves(own, is_always=_is_encrypted):
                if is_template(leaf):
                    used = used_names(variables) if used is None else used
                    leaf = _resolved(leaf, resolve) if name in used else None
                self._add(leaf)

    def _add(self, worked_out: t.Any) -> None:
        for leaf in secret_leaves(worked_out, is_secret=True):
            text = self._plain(leaf) if _is_encrypted(leaf) else str(leaf)
            if text:
                self.texts.add(text)

    def _plain(self, leaf: t.Any) -> str:
        secret = str(leaf._ciphertext)
        if secret not in self._decrypted:
            try:
                self._decrypted[secret] = str(leaf)
            except AnsibleError:
                # Who can't decrypt it can't tell it.
                self._decrypted[secret] = ""
        return self._decrypted[secret]


def _is_encrypted(leaf: t.Any) -> bool:
    return isinstance(leaf, _ENCRYPTED)


def _resolved(leaf: t.Any, resolve: Callable[[t.Any], t.Any]) -> t.Any:
    try:
        return resolve(leaf)
    except AnsibleError:
        return None
