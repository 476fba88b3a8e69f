# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rules are told: one shape for all. Pure.

ansible-rulebook hands an event on to playbooks as an extra variable, which Ansible takes for a text of the user. So
nothing in it that a VM or Azure said may look like a template.
"""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time

PENDING, STARTED, OVER, SILENT, BACK = "pending", "started", "over", "silent", "back"
NOTHING_HEARD, CLOCK = "nothing heard", "clock"

_SIGN = re.compile(r"\{(?=[{%#])|[%#}](?=\})")
_HEADER = "#jinja2:"


def event_for_rules(
    state: str,
    group: str,
    hosts: Iterable[str],
    now: float,
    *,
    event: Mapping[str, t.Any] | None = None,
    unwatched: Iterable[str] = (),
    deadline: float | None = None,
    attempt: int = 1,
    reason: str | None = None,
    drained: bool = False,
) -> dict[str, t.Any]:
    """An event for the rules. `drained`: its hosts are out of service for no event, and a run has to return them."""
    names = list(hosts)
    left = None if deadline is None else max(0, int(deadline - now))
    return {
        "maintenance": {
            "state": state,
            "group": group,
            "attempt": attempt,
            "reason": reason,
            "event": None if event is None else no_template({**event, "seconds_left": left, "affects_this_host": None}),
            "hosts": names,
            "unwatched": no_template(list(unwatched)),
            "deadline": None if deadline is None else iso_time(deadline),
            "seconds_left": left,
            "drained": drained,
        },
        "meta": {"hosts": names},
    }


def no_template(value: t.Any) -> t.Any:
    """The same value, in which no text can be a template: signs that begin or end one are set apart by a blank."""
    if isinstance(value, str):
        if not value.isascii():
            # Half of a sign, which JSON can hold and no program can write.
            value = value.encode("utf-8", "replace").decode("utf-8")
        text = _SIGN.sub(lambda sign: sign[0] + " ", value)
        return " " + text if text.startswith(_HEADER) else text
    if isinstance(value, Mapping):
        return {no_template(key): no_template(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [no_template(item) for item in value]
    return value
