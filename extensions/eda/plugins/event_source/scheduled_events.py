# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source for ansible-rulebook: Azure's scheduled events, from the watchers of a fleet."""

from __future__ import annotations

DOCUMENTATION = r"""
---
author:
  - maintenance.azure contributors
short_description: Azure's scheduled events, told by the watchers of a fleet
description:
  - Listens for the notices of the watchers that the role P(maintenance.azure.watch#role) installs, and tells the rules
    of each event once, with all hosts that it names.
  - A notice only says that a look is worth while. What is started by it reads everything again for itself, so that a
    notice that is forged costs a run, and never an approval.
  - What is told is level, not edge. An event that is still to come is told again and again, as long as there is time.
  - Needs ansible-rulebook 1.2.0 or newer. It needs no Python package beyond that.
options:
  host:
    description:
      - The address to listen on.
      - Without O(secret) and O(secrets) it is C(127.0.0.1), and must be one of the machine itself.
    type: str
    default: 0.0.0.0
  port:
    description:
      - The port to listen on.
    type: int
    default: 5010
  secret:
    description:
      - The secret by which notices are signed, the same as in C(watch_notify).
      - A list while it is being replaced. A notice that is signed with any of them is good.
    type: raw
  secrets:
    description:
      - The secrets of hosts that have one of their own, by the name of the host; each is a text or a list.
      - Such a host is not trusted with O(secret).
    type: dict
  certfile:
    description:
      - The certificate for HTTPS, with those that it depends on, as a PEM file.
    type: str
  keyfile:
    description:
      - The key of O(certfile), as a PEM file.
    type: str
  settle:
    description:
      - For so many seconds an event that is new is held back, as all VMs of its group are about to tell of it.
      - Never for longer than a tenth of the time that is left.
    type: float
    default: 2
  remind:
    description:
      - Every so many seconds an event that is still to come is told again, as long as there is time, and so are hosts
        that are drained for no event.
      - While a run says that it is at work, by its mark on a host that the event names, it is waited for, but not for
        longer than five minutes, and not in the last three before the date. By its mark on another host that tells of
        the event it is waited for until the next reminder but one.
    type: float
    default: 60
  silent_after:
    description:
      - A host that was heard of and then not for so many seconds is told as silent, once.
      - At least twice C(watch_heartbeat), so that one notice may be lost.
    type: float
    default: 90
  max_skew:
    description:
      - By so many seconds the clock of a host may be wrong. What is signed at another time is not trusted, and its
        host told as silent, once.
    type: float
    default: 300
  state_file:
    description:
      - Where hosts and events are kept, so that a host that dies while the source is being restarted is told as silent,
        and so that what was sent before the restart can't be sent again after it.
      - Without it nothing outlives a restart; what is to come is told all the same, with the next heartbeats.
    type: path
  endpoints:
    description:
      - For fleets without watchers, addresses of the metadata service that the source reads by itself.
      - Without a secret nothing is listened for then.
    type: list
    elements: str
  interval:
    description:
      - Seconds between two readings of an endpoint.
    type: float
    default: 5
"""

EXAMPLES = r"""
- name: Watchers with a secret, over HTTPS
  maintenance.azure.scheduled_events:
    secret: "{{ maintenance_secret }}"
    certfile: /etc/eda/tls.crt
    keyfile: /etc/eda/tls.key
    state_file: /var/lib/azure-maintenance/eda.json

- name: While the secret is being replaced
  maintenance.azure.scheduled_events:
    secret:
      - "{{ maintenance_secret }}"
      - "{{ maintenance_secret_until_now }}"

- name: A controller that is a VM of the set itself, and no watchers
  maintenance.azure.scheduled_events:
    endpoints:
      - http://169.254.169.254
"""

RETURN = r"""
maintenance:
  description: What happened.
  returned: always
  type: dict
  contains:
    state:
      description: What is told.
      type: str
      choices: [pending, started, over, silent, back]
    group:
      description: Hosts that share documents; the lock of a run.
      type: str
    attempt:
      description: Counted up each time that a pending event is told.
      type: int
    reason:
      description: For a silent host, C(nothing heard) or C(clock).
      type: str
    event:
      description: The event, as in RV(maintenance.azure.scheduled_event_info#module:events). Null where there is none.
      type: dict
    hosts:
      description: The watched hosts that the event names, or the one that is silent or back.
      type: list
      elements: str
    unwatched:
      description: The VMs that the event names and that no watcher spoke for.
      type: list
      elements: str
    deadline:
      description: When the event may start. Null for one that has no date.
      type: str
    seconds_left:
      description: Until then.
      type: int
    drained:
      description: With C(over), whether the hosts are out of service for no event, so that a run has to return them.
      type: bool
meta:
  description: The same C(hosts), from which ansible-rulebook makes a limit; a C(uuid), and C(received_at).
  returned: always
  type: dict
"""

import asyncio
import importlib
import sys
import types
from pathlib import Path
from typing import Any

COLLECTION = "ansible_collections.maintenance.azure"


def _make_importable(collection: str, root: Path) -> None:
    """Make the rest of the collection importable: ansible-rulebook loads this file alone and has no collections."""
    folders = [root, *root.parents][: collection.count(".") + 1]
    for depth, folder in enumerate(reversed(folders), start=1):
        name = ".".join(collection.split(".")[:depth])
        try:
            package = importlib.import_module(name)
        except ImportError:
            package = sys.modules[name] = types.ModuleType(name)
            package.__path__ = []
        # Other parts of the namespace may be installed elsewhere.
        if str(folder) not in package.__path__:
            package.__path__ = [str(folder), *package.__path__]


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    _make_importable(COLLECTION, Path(__file__).resolve().parents[4])
    from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.source import run_source

    await run_source(queue, args)


if __name__ == "__main__":
    # To see its events without rules: python scheduled_events.py '{"port": 5010}'

    class Shown:
        async def put(self, event: object) -> None:
            sys.stdout.write(f"{event}\n")
            sys.stdout.flush()

    import json

    asyncio.run(main(Shown(), json.loads(sys.argv[1]) if sys.argv[1:] else {}))  # type: ignore[arg-type]
