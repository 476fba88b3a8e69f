# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records on other machines, such as load balancers, of what was done for a host.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import json
import os

from .._host import files, journal
from .machine import StepError

# A load balancer keeps its own record of the host for which it took a server out of rotation, and of the state before.
# The record outlives the disk of the drained host, and that host can't forge it.

VERSION = 1


class RecordFile:
    """The record of one action: what it acts on, for which host, in which run.

    `action` is {acts_on, host, vm, events, type}; `acts_on` is what tells one action from another.
    """

    def __init__(self, folder, action, run_id, predict_only=False):
        name = hashlib.sha256(json.dumps(action["acts_on"], sort_keys=True).encode("utf-8")).hexdigest()[:32]
        self.file = files.KeptFile(
            os.path.join(_expanded(folder), name + ".json"), "record", "drain_records", StepError
        )
        self.action = action
        self.run_id = run_id
        self.predict_only = predict_only

    def claimed(self, look):
        """Make the action this run's own, and return what was found before it: as kept, or by a look."""
        if self.predict_only:
            kept = self._kept()
            return kept["before"] if kept else look()
        self.file.make_folder()
        with self.file.locked():
            kept = self._kept()
            before = kept["before"] if kept else look()
            events = (kept["events"] if kept else []) + self.action["events"]
            data = dict(self.action, version=VERSION, run_id=self.run_id, before=before)
            data.update(events=sorted(set(events)), at=kept["at"] if kept else journal.utc_now())
            # A VM that Azure takes away is no longer waited for, whatever else it was drained for.
            data.update(types=sorted(set(types_of(kept) if kept else []) | {self.action["type"]}))
            self.file.write(data)
        return before

    def taken_over(self):
        """What was found before the action, which is this run's now; None where there is no record of it."""
        kept = self._kept()
        if kept is not None:
            self.claimed(lambda: kept["before"])
        return kept and (kept["before"] or {})

    def check(self):
        """Somebody may have taken the host over, and put all right, since this run claimed the action."""
        kept = self._kept()
        if kept is None or kept["run_id"] != self.run_id:
            whose = "is gone" if kept is None else "is of another run now (%s)" % kept["run_id"]
            raise StepError("The record %s %s, so nothing was done here" % (self.file.path, whose))

    def forget(self):
        if not self.predict_only:
            self.file.remove()

    def _kept(self):
        text = self.file.read()
        if text is None:
            return None
        kept = understood(text)
        if kept is None:
            raise StepError(
                "The record %s can't be understood, so it is not known what was found before. Put right by hand what it"
                " tells, and remove it" % self.file.path
            )
        if kept["host"] != self.action["host"]:
            raise StepError(
                "It was drained for the host %s (record %s). Return that one to service first; if there is no such host"
                " any more, put it right by hand and remove the record" % (kept["host"], self.file.path)
            )
        return kept


def types_of(kept):
    """The types of all events that it is drained for; one that was written before tells the last one only."""
    types = kept.get("types")
    whole = isinstance(types, list) and all(isinstance(one, str) for one in types)
    return types if whole else [kept["type"]]


def understood(text):
    """What a record holds, or None where it is none."""
    try:
        kept = json.loads(text.decode("utf-8"))
    except ValueError:
        return None
    texts = ("host", "vm", "type", "run_id", "at")
    whole = (
        isinstance(kept, dict)
        and kept.get("version") == VERSION
        and all(isinstance(kept.get(name), str) for name in texts)
        and isinstance(kept.get("before"), (dict, type(None)))
        and isinstance(kept.get("acts_on"), dict)
        and isinstance(kept.get("events"), list)
        and all(isinstance(event, str) for event in kept["events"])
    )
    return kept if whole else None


def _expanded(path):
    return os.path.expanduser(os.path.expandvars(path))


TOLD = ("host", "vm", "events", "run_id", "at")


def carried_out(request, check_mode):
    """The result of the module for its options; check mode makes no difference, as nothing is changed."""
    folder = os.path.expanduser(os.path.expandvars(request["folder"]))
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json") and not name.startswith("."))
    except FileNotFoundError:
        names = []
    except OSError as error:
        message = "The folder with the records, %s, can't be read: %s" % (folder, error.strerror)
        return {"failed": True, "changed": False, "msg": message}
    records, unreadable = [], []
    for name in names:
        path = os.path.join(folder, name)
        kept = _kept(path)
        if kept is None:
            unreadable.append(path)
        else:
            records.append(dict({key: kept[key] for key in TOLD}, types=types_of(kept), path=path))
    return {"changed": False, "records": records, "unreadable": unreadable}


def _kept(path):
    try:
        with open(path, "rb") as record_file:
            return understood(record_file.read(files.LARGEST_FILE))
    except OSError:
        return None
