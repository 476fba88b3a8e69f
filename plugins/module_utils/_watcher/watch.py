# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watcher: one reading after another, the status file and the metrics.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import sys
import time

from .._azure import documents, imds
from .._azure.documents import BadReading
from .._host import files

# A problem never ends the watch, and never counts as "no events": the last reading stays. There is no backoff: the
# service allows for the interval of the watch, and asks for more by Retry-After. Nor do timeouts grow: a call that
# hangs may hang for good, while the next one gets through.

# The first call ever may take two minutes. After a good reading they are given up sooner, as the next may get through.
LONGEST_CALL = 130
USUAL_CALL = 10
# Whatever Retry-After says: an update of the service takes 70 seconds.
LONGEST_PAUSE = 120
# Who this VM is does not change. Where the service does not tell, it is asked again, soon at first.
FIRST_PAUSE_WHO = 1
LONGEST_PAUSE_WHO = 60


class Reader:
    """`transports` are the ways to the service, one for each endpoint that it may have; the first good one stays.

    `first_call`: how long a call may take until there was a good reading.
    """

    def __init__(self, transports, api_version, vm_name=None, clock=time.monotonic, first_call=LONGEST_CALL):
        self.transports = list(transports)
        self.clock = clock
        # What was read last, and when, as seconds since the epoch.
        self.document = None
        self.read_at = None
        self.identity = None
        self.vm_name = vm_name
        # None, or what is wrong now, and since when.
        self.problem = None
        self.failing_since = None
        self.readings = 0
        self.failures = 0
        self._body = None
        self._versions = list(reversed(imds.API_VERSIONS)) if api_version == imds.AUTO else [api_version]
        self._call_seconds = first_call
        self._not_before = None
        self._ask_who_at = None
        self._pause_who = FIRST_PAUSE_WHO

    def while_waiting(self, meanwhile):
        """Have this called about once a second while an answer is waited for."""
        for transport in self.transports:
            transport.meanwhile = meanwhile

    def read(self):
        """One try. Returns whether there is another document than before."""
        try:
            return self._read()
        except Exception as error:  # noqa: BLE001 - whatever came: the last good reading stays, and the watch goes on
            self._note("What came could not be understood (%s: %s)" % (type(error).__name__, str(error)[:200]))
            self._try_another_endpoint()
            return False

    def _read(self):
        if self._not_before is not None and self.clock() < self._not_before:
            return False
        self._not_before = None
        self.readings += 1
        outcome = self._ask(imds.events_target(self._versions[0]), self._call_seconds)
        if outcome.verdict.kind is not None:
            self._failed(outcome)
            return False
        try:
            is_new = self._take(outcome.answer)
        except BadReading as error:
            self._note(str(error))
            self._try_another_endpoint()
            return False
        self.read_at = outcome.answer.at
        self.problem = self.failing_since = None
        self._call_seconds = USUAL_CALL
        del self.transports[1:]
        # An older one would not show all events: they would be taken for over.
        del self._versions[1:]
        self._find_out_who()
        return is_new

    @property
    def api_version(self):
        """The one that is asked for: where it had to be found, that which was answered first."""
        return self._versions[0]

    def knows_who(self):
        return self.identity is not None or self.vm_name is not None

    def close(self):
        for transport in self.transports:
            transport.close()

    def _ask(self, target, seconds):
        return imds.outcome_of(self.transports[0], "GET", target, None, min(imds.SECONDS_PER_CONNECT, seconds), seconds)

    def _take(self, answer):
        # Nearly always nothing has changed, and then nothing is parsed.
        if answer.body == self._body:
            return False
        try:
            document = documents.parse_document(answer.body.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise BadReading("The event document is not text in UTF-8") from None
        is_new = document != self.document
        self._body, self.document = answer.body, document
        return is_new

    def _failed(self, outcome):
        verdict = outcome.verdict
        self._note(
            imds.complaint_about(self.transports[0].endpoint, "GET", imds.events_target(self._versions[0]), verdict)
        )
        if outcome.asked_to_wait:
            self._not_before = self.clock() + min(LONGEST_PAUSE, outcome.asked_to_wait)
        if outcome.answer is not None and outcome.answer.status == 400 and len(self._versions) > 1:
            # The next try is for the next older version; after the oldest comes the newest again, elsewhere.
            self._versions.append(self._versions.pop(0))
            if self._versions[0] == imds.API_VERSIONS[-1]:
                self._try_another_endpoint()
        elif verdict.kind not in ("busy", "timed_out"):
            self._try_another_endpoint()

    def _note(self, problem):
        self.failures += 1
        self.problem = problem
        if self.failing_since is None:
            self.failing_since = time.time()

    def _try_another_endpoint(self):
        if len(self.transports) > 1:
            self.transports.append(self.transports.pop(0))

    def _find_out_who(self):
        if self.knows_who() or (self._ask_who_at is not None and self.clock() < self._ask_who_at):
            return
        # News must not wait for this, so that a call is short at first as well.
        seconds = min(USUAL_CALL, self._pause_who)
        self._ask_who_at = self.clock() + self._pause_who
        self._pause_who = min(LONGEST_PAUSE_WHO, 2 * self._pause_who)
        outcome = self._ask(imds.INSTANCE_TARGET, seconds)
        if outcome.verdict.kind is None:
            try:
                self.identity = documents.parse_identity(outcome.answer.body.decode("utf-8-sig"))
            except (BadReading, UnicodeDecodeError):
                # The events are good all the same; only whom they affect is not known.
                return


_ABOUT = (
    ("azure_maintenance_events", "gauge", "Scheduled events that affect this host, by type and status."),
    ("azure_maintenance_next_event_seconds", "gauge", "Seconds until the next of them may start."),
    ("azure_maintenance_last_reading_timestamp_seconds", "gauge", "When the metadata service was last read well."),
    ("azure_maintenance_reading_failures_total", "counter", "Readings that failed since the watcher was started."),
    ("azure_maintenance_drained", "gauge", "Whether this host is drained."),
    ("azure_maintenance_approvals_total", "counter", "Approvals that this host has sent by itself."),
)


def metrics_text(events, read_at, failures, is_drained, approvals):
    """`events` are those of a status. What is not known is left out."""
    mine = [event for event in events or () if event["affects_this_host"] is not False]
    counted = {}
    for event in mine:
        labels = '{type="%s",status="%s"}' % (_escaped(event["type"]), _escaped(event["status"]))
        counted[labels] = counted.get(labels, 0) + 1
    due = [event["seconds_left"] for event in mine if event["seconds_left"] is not None]
    values = {
        "azure_maintenance_events": sorted(counted.items()),
        "azure_maintenance_next_event_seconds": [("", min(due))] if due else [],
        "azure_maintenance_last_reading_timestamp_seconds": [] if read_at is None else [("", round(read_at, 3))],
        "azure_maintenance_reading_failures_total": [("", failures)],
        "azure_maintenance_drained": [("", int(is_drained))],
        "azure_maintenance_approvals_total": [("", approvals)],
    }
    lines = []
    for name, kind, about in _ABOUT:
        lines += ["# HELP %s %s" % (name, about), "# TYPE %s %s" % (name, kind)]
        lines += ["%s%s %s" % (name, labels, value) for labels, value in values[name]]
    return "\n".join(lines) + "\n"


def _escaped(text):
    return str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


VERSION = "0.1.0"


SECONDS_BETWEEN_STATUSES = 10


class Watch:
    def __init__(self, settings, reader, notices, reflexes, clock=time.monotonic, sleep=time.sleep):
        self.settings = settings
        self.reader = reader
        self.notices = notices
        self.reflexes = reflexes
        self.clock = clock
        self.sleep = sleep
        self.status_file = files.SharedFile(settings["status_file"])
        self.metrics_file = files.SharedFile(settings["metrics_file"]) if settings["metrics_file"] else None
        self._written_at = None
        self._said = None
        self._told = None
        self._told_version = None
        self._failed = set()
        reader.while_waiting(self._go_on)

    def run(self):
        """Until somebody ends it. The status goes with it: one that nobody keeps up to date says nothing."""
        # One that was killed may have left it behind.
        self.status_file.remove()
        next_at = self.clock()
        try:
            while True:
                self.look()
                # The call was slow, or the VM stood still: what was missed is not made up for.
                interval, now = self.settings["interval"], self.clock()
                next_at = max(next_at + interval, now + interval / 2.0)
                self.sleep(next_at - now)
        finally:
            self.status_file.remove()
            if self.metrics_file:
                self.metrics_file.remove()
            self.notices.stop()
            self.reader.close()

    def look(self):
        """One reading, and what follows from it."""
        is_new = self.reader.read()
        self._say_what_changed()
        self._go_on(is_new)

    def _go_on(self, is_new=False):
        """All but the reading, also while one takes its time. Nothing in here ends the watch, or the rest of it."""
        condition = self.condition()
        if self.reader.document is not None:
            # First of all: seconds count.
            is_pending = condition["drained"] or bool(self.reader.document["events"])
            self._try("The reflexes could not be started", lambda: self.reflexes.go_on(is_new, is_pending))
        self._try("The status could not be written", lambda: self._keep_up_to_date(is_new, condition))
        self._try("Notices could not be sent", lambda: self.notices.go_on(is_new))

    def _try(self, complaint, action):
        """A full disk or a table of processes that is full pass. It is said once, and not with each try."""
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
            if complaint not in self._failed:
                self._failed.add(complaint)
                reason = getattr(error, "strerror", None) or "%s: %s" % (type(error).__name__, error)
                say("%s: %s" % (complaint, reason))
        else:
            self._failed.discard(complaint)

    def _keep_up_to_date(self, is_new, condition):
        what_is_said = (condition, self.reader.knows_who())
        is_due = self._written_at is None or self.clock() - self._written_at >= SECONDS_BETWEEN_STATUSES
        if is_new or is_due or what_is_said != self._said:
            self._write(condition)
            self._said, self._written_at = what_is_said, self.clock()

    def condition(self):
        """What the status says of the watcher itself."""
        reader = self.reader
        return {
            "version": VERSION,
            "failing_since": None if reader.failing_since is None else documents.iso(reader.failing_since),
            "problem": reader.problem,
            "drained": os.path.exists(self.settings["journal"]),
            "left_for_a_run": self.reflexes.left_for_a_run(),
        }

    def _write(self, condition):
        reader, status = self.reader, None
        if reader.document is not None:
            status = documents.build_status(reader.document, reader.identity, reader.read_at, reader.vm_name)
            status["watcher"] = condition
            self._replace(self.status_file, json.dumps(status) + "\n")
        if self.metrics_file:
            events = status and status["events"]
            approvals = self.reflexes.approvals()
            text = metrics_text(events, reader.read_at, reader.failures, condition["drained"], approvals)
            self._replace(self.metrics_file, text)

    @staticmethod
    def _replace(shared, text):
        try:
            shared.write(text)
        except OSError as error:
            # A full disk passes; who reads the old file sees by its age that it is no longer kept.
            say("%s could not be written: %s" % (shared.path, error.strerror or error))

    def _say_what_changed(self):
        """In the log once, and not with each reading."""
        kind = None if self.reader.problem is None else self.reader.problem.split(" got ")[-1][:60]
        if kind is None and self._told_version != self.reader.api_version:
            self._told_version = self.reader.api_version
            hidden = documents.types_never_shown(self._told_version)
            if hidden:
                say("api-version %s never shows %s events" % (self._told_version, " and ".join(hidden)))
        if kind == self._told:
            return
        if self.reader.problem:
            say("No good reading: %s" % self.reader.problem)
        else:
            say("Readings are good again")
        self._told = kind


def say(sentence):
    try:
        sys.stderr.write(" ".join(sentence.split()) + "\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # Nobody listens any more, or the disk of the log is full: no reason to end.
        return
