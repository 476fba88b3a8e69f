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
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.ledger import MOST_HOSTS, Ledger
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.limits import Allowance, SeenSignatures
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notice import (
    BadNotice,
    Notice,
    is_name,
    is_signed,
    understand,
)

# A watcher sends at most one notice a second, and one that could not be sent is not sent at once again.
NOTICES_AT_ONCE, NOTICES_A_SECOND = 20, 2
# Times in notices are whole seconds, and take a moment to get here.
SLACK = 2.0
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
        # Since when signatures are known, and by how much the clocks of hosts that are known from before were behind.
        self._open_since = 0.0
        self._behind: dict[str, float] = {}

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
                if self.ledger.has_room_for(host):
                    self.ledger.hear_odd_clock(notice, now)
                return NotTaken(403, f"{host}: its clock is {abs(away):.0f} s {'ahead' if away > 0 else 'behind'}")
            if self._is_from_before(notice, now):
                return NotTaken(409, f"{host}: it was sent before the source was started")
            if not self._signatures.is_new(signature, at + self.arguments.max_skew, now.wall):
                return NotTaken(409, f"{host}: this very notice was there before")
        if not self.ledger.has_room_for(host):
            return NotTaken(503, f"{host}: more than {MOST_HOSTS} hosts")
        self.ledger.hear(notice, now, peer)
        return None

    def open(self, now: Now) -> None:
        """From now on signatures are kept. What was signed before may have been used then."""
        self._open_since = now.wall
        self._behind = {host.name: host.behind for host in self.ledger.hosts.values()}

    def _is_from_before(self, notice: Notice, now: Now) -> bool:
        """By the clock of its host, as it was. A watcher sends no notice twice: it comes again with a fresh one."""
        if self._behind and abs(now.wall - self._open_since) > self.arguments.max_skew:
            # The window refuses it.
            self._behind = {}
        behind = self._behind.get(notice.host)
        return behind is not None and notice.sent_at + behind < self._open_since - SLACK
