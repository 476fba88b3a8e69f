# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speak HTTP to Azure's instance metadata service, and pass on what it says as it came.

This file runs on the managed host: standard library only, Python 3.6 or newer. What an
answer means is not known here; only whether it is one, and when asking again makes sense.
"""

import hashlib
import json
import time

from ansible_collections.maintenance.azure.plugins.module_utils._document.shown import json_of
from ansible_collections.maintenance.azure.plugins.module_utils._service.http_transport import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._service.patience import (
    ADVICE,
    SECONDS_PER_CONNECT,
    UNCLEAR_STATUSES,
    Conversation,
    ImdsError,
)
from ansible_collections.maintenance.azure.plugins.module_utils._service.targets import (
    API_VERSIONS,
    AUTO,
    INSTANCE_TARGET,
    events_target,
)


def get_events(conversation, api_version):
    """The api-version that the service answers, and its answer. Looking for a version costs a request for each 400."""
    if api_version != AUTO:
        return api_version, conversation.get(events_target(api_version))
    refusals = []
    for version in reversed(API_VERSIONS):
        try:
            return version, conversation.get(events_target(version))
        except ImdsError as error:
            if error.status != 400:
                raise
            refusals.append(error)
    message = "The service answers none of the %d api-versions that are known. %s" % (len(refusals), refusals[0])
    raise ImdsError(refusals[0].kind, message, 400)


def passed_on(answer, transport):
    """An answer as plain data, body as text: what travels to the controller."""
    try:
        body = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        message = "%s answered bytes that are not text. %s" % (transport.endpoint, ADVICE["not_text"])
        raise ImdsError("not_text", message) from None
    return {"status": answer.status, "headers": answer.headers, "body": body, "at": answer.at}


def read_from(endpoints, api_version, with_instance, timeout, transport=HttpTransport):
    """Read the event document, and who this VM is, from the first endpoint that is the service.

    Returns {endpoint, api_version, events, instance}; the last two are answers as `passed_on` makes them,
    `instance` is None where it was not asked for.
    """
    started = time.monotonic()
    complaints = []
    for number, endpoint in enumerate(endpoints):
        left = timeout - (time.monotonic() - started)
        conversation = Conversation(transport(endpoint), left)
        if number + 1 < len(endpoints):
            conversation.accepted_by = time.monotonic() + SECONDS_PER_CONNECT
        try:
            version, answer = get_events(conversation, api_version)
            events = passed_on(answer, conversation.transport)
            if len(endpoints) > 1 and not _is_json_object(events["body"]):
                raise ImdsError("rejected", "%s answered something that is not a JSON object." % endpoint)
            instance = passed_on(conversation.get(INSTANCE_TARGET), conversation.transport) if with_instance else None
            return {"endpoint": endpoint, "api_version": version, "events": events, "instance": instance}
        except ImdsError as error:
            complaints.append(error)
            if error.kind in ("busy", "timed_out"):
                break
    if len(complaints) == 1:
        raise complaints[0]
    raise ImdsError(complaints[-1].kind, " ".join(str(error) for error in complaints), complaints[-1].status)


def document_digest(text):
    """By which a document is known again. It is compared as data: the service does not keep to one order of keys."""
    return hashlib.sha256(json.dumps(json_of(text), sort_keys=True).encode("ascii")).hexdigest()


def approve(
    endpoint,
    api_version,
    expected,
    body,
    timeout,
    transport=HttpTransport,
    expected_sha256=None,
    about_to_send=None,
    seconds_left=None,
    is_expected=None,
):
    """Send an approval if the event document is still the one that it was decided on, at each try anew.

    Returns what `read` does, with `sent` (the service took the approval) and `problem`: None, or {message, unclear},
    where unclear says that the approval may have arrived all the same. `expected_sha256` is the digest of the expected
    document, in its place; so is `is_expected`, which says of a document whether it will do. `about_to_send` is called
    with the document before each try, and may raise what it likes; `seconds_left` says how much time there is.
    """
    conversation = Conversation(transport(endpoint), timeout)
    version, answer = get_events(conversation, api_version)
    result = {"endpoint": endpoint, "api_version": version, "instance": None, "sent": False, "problem": None}
    result["events"] = passed_on(answer, conversation.transport)

    def compare():
        text = result["events"]["body"]
        if not _is_json_object(text):
            raise _NotAsExpected()
        if is_expected:
            is_same = is_expected(text)
        else:
            is_same = document_digest(text) == (expected_sha256 or document_digest(expected))
        if not is_same:
            raise _NotAsExpected()
        if about_to_send:
            about_to_send(text)

    def read_again():
        # The service was busy for seconds, in which the document may have become another one.
        try:
            result["events"] = passed_on(get_events(conversation, version)[1], conversation.transport)
        except ImdsError as error:
            raise _NotReadAgain("It was turned away, and could not be compared for another try. %s" % error) from None
        compare()

    try:
        compare()
        conversation.post(events_target(version), body, seconds_left, read_again)
        result["sent"] = True
    except _NotAsExpected:
        return result
    except _NotReadAgain as error:
        result["problem"] = {"message": str(error), "unclear": False}
    except ImdsError as error:
        unclear = error.kind in ("broken", "timed_out", "too_large") or error.status in UNCLEAR_STATUSES
        result["problem"] = {"message": str(error), "unclear": unclear}
    return result


class _NotAsExpected(Exception):
    """The document is another one than the decision was about."""


class _NotReadAgain(Exception):
    """What was turned away is not sent again unseen. The text is for the user."""


def _is_json_object(text):
    try:
        return isinstance(json_of(text), dict)
    except ValueError:
        return False
