# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One reading after another, each a single try: what came is good and new, good and the same, or a problem.

A problem never ends the watch, and never counts as "no events": what was read last stays. In place of pauses that grow
there is the interval of the watch, which the service allows for; it asks for more by Retry-After. Nor do calls grow:
one that hangs may hang for good, and the next one gets through.

This file runs on the managed host: standard library only, Python 3.6 or newer. A watcher keeps it in memory for months:
it imports nothing large.
"""

import time

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import (
    BadReading,
    parse_document,
    parse_identity,
)
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import (
    API_VERSIONS,
    AUTO,
    INSTANCE_TARGET,
    SECONDS_PER_CONNECT,
    complaint_about,
    events_target,
    outcome_of,
)

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
        self._versions = list(reversed(API_VERSIONS)) if api_version == AUTO else [api_version]
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
        outcome = self._ask(events_target(self._versions[0]), self._call_seconds)
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
        return outcome_of(self.transports[0], "GET", target, None, min(SECONDS_PER_CONNECT, seconds), seconds)

    def _take(self, answer):
        # Nearly always nothing has changed, and then nothing is parsed.
        if answer.body == self._body:
            return False
        try:
            document = parse_document(answer.body.decode("utf-8-sig"))
        except UnicodeDecodeError:
            raise BadReading("The event document is not text in UTF-8") from None
        is_new = document != self.document
        self._body, self.document = answer.body, document
        return is_new

    def _failed(self, outcome):
        verdict = outcome.verdict
        self._note(complaint_about(self.transports[0].endpoint, "GET", events_target(self._versions[0]), verdict))
        if outcome.asked_to_wait:
            self._not_before = self.clock() + min(LONGEST_PAUSE, outcome.asked_to_wait)
        if outcome.answer is not None and outcome.answer.status == 400 and len(self._versions) > 1:
            # The next try is for the next older version; after the oldest comes the newest again, elsewhere.
            self._versions.append(self._versions.pop(0))
            if self._versions[0] == API_VERSIONS[-1]:
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
        outcome = self._ask(INSTANCE_TARGET, seconds)
        if outcome.verdict.kind is None:
            try:
                self.identity = parse_identity(outcome.answer.body.decode("utf-8-sig"))
            except (BadReading, UnicodeDecodeError):
                # The events are good all the same; only whom they affect is not known.
                return
