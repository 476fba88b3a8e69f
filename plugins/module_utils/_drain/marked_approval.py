# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The approval of a roll: compare, write down that it begins, send, in one command and behind the fence.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock as _host_clock
from ansible_collections.maintenance.azure.plugins.module_utils._drain import journal_order as _journal_order
from ansible_collections.maintenance.azure.plugins.module_utils._drain.at_work import expanded
from ansible_collections.maintenance.azure.plugins.module_utils._drain.fence import Fence
from ansible_collections.maintenance.azure.plugins.module_utils._drain.journal import JournalError
from ansible_collections.maintenance.azure.plugins.module_utils._service import imds as _imds

# A POST is not tried any more so long after its command arrived.
SECONDS_TO_SEND = 20


def sent(request, transport=_imds.HttpTransport, clock=_host_clock):
    """What exchange.py returns for an approval; {failed, refused} where the fence refuses.

    `marking` is {journal, run_id, fence, marks}. A mark that this command has set is taken back where it knows that it
    sent nothing.
    """
    approval, arrived = request["approval"], clock.seconds()
    marking = approval["marking"]
    path = expanded(marking["journal"])
    fence = Fence(marking["fence"], path, marking["run_id"], clock)
    # The events are looked for in the document that is compared anyway.
    write = dict(marking, path=path, fence=dict(marking["fence"], events=[]))

    def begin(document):
        fence.check_events(document)
        _must(_journal_order.carried_out(dict(write, state="mark"), False))

    try:
        answers = _imds.approve(
            request["endpoints"][0],
            request["api_version"],
            approval.get("expected"),
            approval["body"],
            request["timeout"],
            transport,
            approval.get("expected_sha256"),
            begin,
            lambda: arrived + SECONDS_TO_SEND - clock.seconds(),
        )
    except JournalError as error:
        return dict(_journal_order.failure_of(error), kind="refused")
    except _Failed as failure:
        return dict(failure.result, kind="refused")
    if not answers["sent"] and answers["problem"] and not answers["problem"]["unclear"]:
        _journal_order.carried_out(dict(write, state="unmark"), False)
    return {"changed": False, "answers": dict(answers, clock=None)}


class _Failed(Exception):
    def __init__(self, result):
        super(_Failed, self).__init__(result["msg"])
        self.result = result


def _must(result):
    if result.get("failed"):
        raise _Failed(result)
