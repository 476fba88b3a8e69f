# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host command that compares, marks and sends an approval.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .._azure import documents, http
from .._azure import imds as _imds
from . import audit as _audit
from . import files
from . import journal_command as _journal_command
from .journal import JournalError, JournalFile, marked, marked_alone, that_can_be_taken_back, unmarked, utc_now
from .ownership import OwnedJournal

# A POST is not tried any more so long after its command arrived.
SECONDS_TO_SEND = 20


class MarkedApproval:
    """`marking` is {journal, run_id, fence, marks}."""

    def __init__(self, marking, here=files.HERE):
        self.marks = marking["marks"]
        # A machine that is worked on from elsewhere keeps no such record.
        self.audit = marking.get("audit") if here.can_act else None
        journal = JournalFile(here.expanded(marking["journal"]), here=here)
        self.journal = OwnedJournal(journal, marking["run_id"], marking["fence"])
        self.has_begun = False
        self.to_take_back = []

    def begin(self, document):
        """Write down that the approval of what this document shows begins, if the fence allows it.

        Where the service turns it away and it is tried again, that is the same approval: it stands there already.
        """
        if self.has_begun:
            return
        self.journal.fence.check_events(document)
        self.journal.take(self._marked)
        self.has_begun = True
        self.audit = _audit.having_read(self.audit, documents.incarnation_of(document))
        self.tell("approval begins")

    def tell(self, what, **details):
        """Write an audit entry on this host."""
        _audit.tell(self.audit, what, events=[mark["event"] for mark in self.marks], **details)

    def _marked(self, data):
        self.to_take_back = that_can_be_taken_back(data, self.marks)
        data = data or marked_alone(self.journal.run_id, self.journal.journal.here.clock.boot_id(), utc_now())
        return marked(data, self.marks, about_to_send=True)

    def take_back(self):
        """Nothing was sent: the marks of which nothing was sent before go as well."""
        self.journal.change_if_ours(lambda data: unmarked(data, self.to_take_back))


def _expectation(approval):
    """Where others of the same wave are approved meanwhile, what matters is compared, and not the whole document."""
    marking = approval["marking"]
    may_start = marking["fence"].get("may_start")
    # Where the service wants to be told which document is meant, it must be that one.
    if may_start is None or not marking.get("judged") or "DocumentIncarnation" in approval["body"]:
        return None
    return lambda document: documents.is_as_judged(document, marking["judged"], may_start)


def _tell_outcome(marking, answers):
    problem = answers["problem"]
    if problem:
        marking.tell("approval unclear" if problem["unclear"] else "approval refused", error=problem["message"][:500])
    elif answers["sent"]:
        marking.tell("approved")
    elif marking.has_begun:
        marking.tell("approval refused", error="It was turned away, and the document has changed since")


def sent(request, transport=http.HttpTransport, here=files.HERE):
    """What exchange.py returns for an approval; {failed, refused} where the fence refuses."""
    approval, clock = request["approval"], here.clock
    marking = MarkedApproval(approval["marking"], here)
    arrived = clock.seconds()
    try:
        answers = _imds.approve(
            request["endpoints"][0],
            request["api_version"],
            approval.get("expected"),
            approval["body"],
            request["timeout"],
            transport,
            approval.get("expected_sha256"),
            marking.begin,
            lambda: arrived + SECONDS_TO_SEND - clock.seconds(),
            _expectation(approval),
        )
        may_have_arrived = answers["sent"] or (answers["problem"] or {}).get("unclear")
        if marking.has_begun and not may_have_arrived:
            marking.take_back()
        _tell_outcome(marking, answers)
    except JournalError as error:
        return dict(_journal_command.failure_of(error), kind="refused")
    return {"changed": False, "answers": dict(answers)}
