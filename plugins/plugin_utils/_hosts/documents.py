# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documents that the hosts of a run have shown, each kept once.

Every VM of a delivery group shows the events of all: with a thousand VMs, a thousand readings of a thousand events. So
a reading of a roll holds the events that name its own VM, and says in which document the others are.
"""

from __future__ import annotations

import json
import os
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import document_digest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    build_status,
    canonical_name,
    parse_document,
)

Document = dict[str, t.Any]
# In a reading: there are more events, in the document of this digest.
OTHERS_IN = "other_events_in"


class Documents:
    """Lives in a folder of the run, as each task is a process of its own."""

    def __init__(self, run_folder: str | Path) -> None:
        self.folder = Path(run_folder) / "azure-documents"
        self._read: dict[str, Document | None] = {}

    def once(self, body: str) -> tuple[str, Document]:
        """The digest of a document, and what it says; understood only if no host of this run has shown it before.

        Raises BadReading.
        """
        try:
            digest = str(document_digest(body))
        except ValueError:
            # Says what is wrong with it.
            parse_document(body)
            raise
        document = self.known(digest)
        if document is None:
            understood = parse_document(body)
            document = {**understood, "named": _named(understood["events"])}
            self._keep(digest, document)
        return digest, document

    def _keep(self, digest: str, document: Document) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(document, file)
        # Whole or not at all: another host of the group may be reading it.
        Path(name).replace(self.folder / digest)

    def known(self, digest: str) -> Document | None:
        """The document with that digest, if a host of this run has shown it before."""
        if digest not in self._read:
            try:
                self._read[digest] = json.loads((self.folder / digest).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                self._read[digest] = None
        return self._read[digest]

    def whole(self, status: t.Mapping[str, t.Any], now: float) -> dict[str, t.Any]:
        """A reading with the events of its whole document. Those of others are the same objects for all its hosts.

        Without the document nothing is known, least of all that there are no other events: it is no reading then.
        """
        digest = status.get(OTHERS_IN)
        if not isinstance(digest, str) or not isinstance(status.get("events"), list):
            return dict(status)
        shared = self._shared(digest, now)
        if shared is None:
            return {name: value for name, value in status.items() if name != "events"}
        own = {str(event["id"]): event for event in status["events"]}
        return {**status, "events": [own.get(event["id"], event) for event in shared]}

    def _shared(self, digest: str, now: float) -> list[dict[str, t.Any]] | None:
        document = self.known(digest)
        if document is None:
            return None
        if "shared" not in document:
            events: list[dict[str, t.Any]] = build_status(document, None, now)["events"]
            document["shared"] = [{**event, "affects_this_host": False} for event in events]
        shared: list[dict[str, t.Any]] = document["shared"]
        return shared


def own_events(document: Document, vm_name: str) -> Document:
    """The document as if it held only what names this VM."""
    positions = document["named"].get(canonical_name(vm_name), ())
    return {**document, "events": [document["events"][position] for position in positions]}


def _named(events: list[dict[str, t.Any]]) -> dict[str, list[int]]:
    """VM -> the places of the events that name it."""
    found: dict[str, list[int]] = {}
    for position, event in enumerate(events):
        for name in dict.fromkeys(canonical_name(resource) for resource in event["resources"]):
            found.setdefault(name, []).append(position)
    return found
