# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order this host has seen the events of its group come, kept from one reading to the next. Pure.

All watchers of a group read one document, each at moments of its own. What one has seen come before something else, no
other can have seen the other way round. Where several came at once, all who have read the very document before and the
very document after agree that they came at once, and then they agree by date and id. Who has missed a document in
between can't know, and says that nothing came before anything.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import canonical_id, canonical_name


class Sightings:
    """`kept` is what `data` gave before; None where nothing is known, as on the first start or after a lost disk."""

    def __init__(self, kept=None):
        kept = kept if _is_whole(kept) else {}
        self.incarnation = kept.get("incarnation")
        self.generation = kept.get("generation", 0)
        # Event id -> [the reading that it came with, whether that was the very next document, its date then,
        # whether it names other VMs].
        self.seen = kept.get("seen", {})
        # When an event of other VMs went, or may have gone without being seen here.
        self.others_gone_at = kept.get("others_gone_at")

    def data(self):
        return {
            "incarnation": self.incarnation,
            "generation": self.generation,
            "seen": self.seen,
            "others_gone_at": self.others_gone_at,
        }

    def note(self, document, vm_name, now):
        """Take in a good reading. Returns whether there is something new to keep."""
        incarnation = document["document_incarnation"]
        shown = {canonical_id(event["id"]): event for event in document["events"]}
        if self.generation and incarnation == self.incarnation and set(shown) == set(self.seen):
            return False
        self.generation += 1
        is_next = _is_next(self.incarnation, incarnation)
        for event_id, event in shown.items():
            if event_id not in self.seen:
                has_others = any(canonical_name(name) != canonical_name(vm_name) for name in event["resources"])
                self.seen[event_id] = [self.generation, is_next, event["not_before"] or "", has_others]
        for event_id in [event_id for event_id in self.seen if event_id not in shown]:
            if self.seen.pop(event_id)[3]:
                self.others_gone_at = now
        if not is_next:
            self.others_gone_at = now
        self.incarnation = incarnation
        return True

    def came_before(self, event, other):
        """Whether this event is before that one, for every watcher that can tell at all."""
        if (event["status"] == "Started") != (other["status"] == "Started"):
            return event["status"] == "Started"
        if event["status"] == "Started":
            # Azure has both under way: nothing is gained by waiting.
            return True
        mine, its = (self.seen.get(canonical_id(one["id"])) for one in (event, other))
        if mine is None or its is None:
            return False
        if mine[0] != its[0]:
            return mine[0] < its[0]
        if not mine[1]:
            return False
        # As they were when they came, as Azure may change a date.
        return (mine[2], canonical_id(event["id"])) < (its[2], canonical_id(other["id"]))


def _is_next(before, now):
    return isinstance(before, int) and isinstance(now, int) and now == before + 1


def _is_whole(kept):
    return (
        isinstance(kept, dict)
        and isinstance(kept.get("generation"), int)
        and isinstance(kept.get("others_gone_at"), (int, float, type(None)))
        and isinstance(kept.get("seen"), dict)
        and all(_is_whole_sighting(one) for one in kept["seen"].values())
    )


def _is_whole_sighting(one):
    kinds = (int, bool, str, bool)
    return isinstance(one, list) and len(one) == 4 and all(isinstance(*pair) for pair in zip(one, kinds))
