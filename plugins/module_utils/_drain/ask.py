# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the metadata service once more, right before something is done, whether the event is still there.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import incarnation_of
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import SocketTransport
from ansible_collections.maintenance.azure.plugins.module_utils._drain.fence import UNREAD, Refused

# Whoever takes longer is asked by a task of its own, which has time.
SECONDS_TO_LOOK = 5


def check_that_events_are_shown(fence, transport=SocketTransport, discovered_endpoints=None):
    """One request, which may take no longer than what the run knows is good for. Returns which document it was."""
    request = dict(fence.given["ask"], timeout=max(1, fence.seconds_left()), with_instance=False)
    try:
        answers = _imds.read(request, transport, discovered_endpoints)
    except _imds.ImdsError as error:
        raise Refused(UNREAD, "It is not known whether the event is still there. %s" % error) from None
    fence.check_events(answers["events"]["body"])
    return incarnation_of(answers["events"]["body"])


def look(request, clock, transport=SocketTransport, discovered_endpoints=None):
    """What the service shows now, and the host's time before it was asked; None where it does not answer at once."""
    # The clock first: what is read after it is never taken for newer than it is.
    seconds = clock.told()
    try:
        request = dict(request, timeout=SECONDS_TO_LOOK, with_instance=False)
        answers = _imds.read(request, transport, discovered_endpoints)
    except _imds.ImdsError:
        return None
    return {"clock": seconds, "answers": answers}
