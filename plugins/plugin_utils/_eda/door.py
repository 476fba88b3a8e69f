# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may speak, and when: from a request to a notice that counts. Pure: the clock is given."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.arguments import SourceArguments
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.heard import Now
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import Ledger
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.limits import Allowance, SeenSignatures
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import (
    BadNotice,
    is_name,
    is_signed,
    understand,
)

# A watcher sends at most one notice a second, and one that could not be sent is not sent at once again.
NOTICES_AT_ONCE, NOTICES_A_SECOND = 20, 2
_SIGNATURE = re.compile(r"sha256=([0-9a-f]{64})")
_TIME = re.compile(r"[0-9]{1,12}")


class NotTaken(t.NamedTuple):
    """The status to answer, and why, for the log. Who sent it learns no more than the status."""

    status: int
    why: str


class Door:
    def __init__(self, arguments: SourceArguments, ledger: Ledger) -> None:
        self.arguments = arguments
        self.ledger = ledger
        self._allowance = Allowance(NOTICES_AT_ONCE, NOTICES_A_SECOND)
        self._signatures = SeenSignatures()

    def let_in(self, peer: str, headers: Mapping[str, str], body: bytes, now: Now) -> NotTaken | None:
        """None where it was taken. `headers` have lower-case names."""
        host = headers.get("x-maintenance-host", "")
        if not is_name(host):
            return NotTaken(400, "X-Maintenance-Host is no name of a host")
        needs_signature = bool(self.arguments.secret or self.arguments.secrets)
        signature, at = "", 0
        if needs_signature:
            given = _SIGNATURE.fullmatch(headers.get("x-maintenance-signature", ""))
            moment = _TIME.fullmatch(headers.get("x-maintenance-time", ""))
            if not given or not moment:
                return NotTaken(401, f"{host}: it is not signed")
            signature, at = given[1], int(moment[0])
            if not is_signed(self.arguments.secrets_of(host), signature, at, host, body):
                return NotTaken(401, f"{host}: the signature is wrong")
        # By the sender, too: with a secret of the fleet one VM could use up what another may send.
        if not self._allowance.takes((peer, host), now.steady):
            return NotTaken(429, f"{host}: more than {NOTICES_A_SECOND} notices a second")
        try:
            notice = understand(body, host)
        except BadNotice as error:
            return NotTaken(400, f"{host}: {error}")
        if needs_signature:
            away = at - now.wall
            if abs(away) > self.arguments.max_skew:
                self.ledger.hear_odd_clock(notice, now)
                return NotTaken(403, f"{host}: its clock is {abs(away):.0f} s {'ahead' if away > 0 else 'behind'}")
            if not self._signatures.is_new(signature, at + self.arguments.max_skew, now.wall):
                return NotTaken(409, f"{host}: this very notice was there before")
        self.ledger.hear(notice, now)
        return None
