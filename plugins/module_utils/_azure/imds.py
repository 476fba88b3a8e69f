# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service: discovery, versions, retries, reading and approving.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections
import hashlib
import io
import json
import os
import re
import time

from . import documents
from . import http as _http

EVENTS_PATH = "/metadata/scheduledevents"
API_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
# In place of a version: the newest of these that the service answers, as some clouds lack some.
AUTO = "auto"
# The instance metadata has versions of its own; this one has every field that we use and is old
# enough for every cloud.
INSTANCE_TARGET = "/metadata/instance/compute?api-version=2019-06-01&format=json"


def events_target(api_version):
    return "%s?api-version=%s" % (EVENTS_PATH, api_version)


# Which DHCP client keeps its leases where. Later files and later leases win.
LEASE_FILES = (
    "var/lib/dhcp/dhclient.*.leases",
    "var/lib/dhcp/dhclient.leases",
    "var/lib/dhclient/dhclient-*.leases",
    "var/lib/dhclient/dhclient-*.lease",
    "var/lib/NetworkManager/dhclient-*.lease",
    "var/lib/NetworkManager/internal-*.lease",
    "var/db/dhclient.leases.*",
    "run/systemd/netif/leases/*",
)
# The two samples that Microsoft published disagree about the port.
PORTS = (80, 8080)

_DHCLIENT_OPTION = re.compile(r"option\s+(?:unknown|option)-245\s+([0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2}){3})\s*;")
_DHCLIENT_LEASE = re.compile(r"lease\s*\{(.*?)\n\s*\}", re.DOTALL)
_DHCLIENT_EXPIRY = re.compile(r"expire\s+\d+\s+(\d{4})/(\d\d?)/(\d\d?)\s+(\d\d?):(\d\d?):(\d\d?)\s*;")
_NETWORKD_OPTION = re.compile(r"^OPTION_245=([0-9a-fA-F]{8})\s*$", re.MULTILINE)


def endpoint_of_lease(text, now):
    """The address that a lease file's text names in option 245, or None. Expired leases do not count."""
    found = None
    for lease in _DHCLIENT_LEASE.findall(text):
        option = _DHCLIENT_OPTION.search(lease)
        if option and not _is_expired(lease, now):
            found = ".".join(str(int(part, 16)) for part in option.group(1).split(":"))
    networkd = _NETWORKD_OPTION.search(text)
    if networkd:
        digits = networkd.group(1)
        found = ".".join(str(int(digits[i : i + 2], 16)) for i in range(0, 8, 2))
    return found


def _is_expired(lease, now):
    # As glob below, needed by few: what a command imports is most of its time.
    import calendar

    expiry = _DHCLIENT_EXPIRY.search(lease)  # "expire 0 never;" does not match
    try:
        return bool(expiry) and calendar.timegm(tuple(int(part) for part in expiry.groups())) < now
    except (ValueError, OverflowError):
        # A date that there is not: no lease to build on.
        return True


def endpoints_by_dhcp(root="/", now=None):
    """Base URLs to try, in order, for every address that a lease on this machine names."""
    return endpoints_of(_lease_texts(root), time.time() if now is None else now)


def _lease_texts(root):
    import glob

    for pattern in LEASE_FILES:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            try:
                with io.open(path, encoding="utf-8", errors="replace") as lease_file:
                    text = lease_file.read()
            except OSError:
                continue
            yield text


def endpoints_of(texts, now):
    addresses = []
    for text in texts:
        address = endpoint_of_lease(text, now)
        if address and address not in addresses:
            addresses.append(address)
    return [
        "http://%s" % address if port == 80 else "http://%s:%d" % (address, port)
        for address in addresses
        for port in PORTS
    ]


# Nobody answers a connection on a machine that is not an Azure VM: do not spend the notice on that.
SECONDS_TO_BE_ACCEPTED = 15
SECONDS_PER_CONNECT = 5
# The service allows 5 requests a second to all processes of a VM together; one is left for the others.
REQUESTS_A_SECOND = 4
TOO_MANY_REQUESTS = 429
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 8.0
# The instance metadata answers 404 for a short while after a VM was changed.
NOT_THERE_YET_TRIES = 3
# After these a POST may have been taken in all the same.
UNCLEAR_STATUSES = (500, 502, 504)


class ImdsError(Exception):
    """The service gave no answer to build on. The text is for the user; `kind` is for the program.

    kind is one of: not_resolved, not_accepted, timed_out, broken, busy, rejected, not_found,
    redirect, html, too_large, not_text, too_late.
    """

    def __init__(self, kind, message, status=None):
        super(ImdsError, self).__init__(message)
        self.kind = kind
        self.status = status


# What to do about one answer: take it (kind None), ask again (retry), or give up.
AnswerVerdict = collections.namedtuple("AnswerVerdict", "kind retry text")
GOOD = AnswerVerdict(None, False, "")


def judge(method, target, answer):
    """Say whether an answer can be passed on, is worth asking again for, or ends the task."""
    status = answer.status
    if status in (408, 410, TOO_MANY_REQUESTS) or 500 <= status <= 599:
        return AnswerVerdict("busy", True, "HTTP %d%s" % (status, _hint(answer)))
    if 300 <= status <= 399:
        where = answer.headers.get("location", "nowhere")
        return AnswerVerdict(
            "redirect", False, "HTTP %d, a redirect to %s, which the metadata service never sends" % (status, where)
        )
    if status == 404:
        return AnswerVerdict("not_found", target == INSTANCE_TARGET, "HTTP 404 Not Found%s" % _hint(answer))
    if not 200 <= status <= 299:
        return AnswerVerdict("rejected", False, "HTTP %d%s" % (status, _hint(answer)))
    if method != "GET":
        return GOOD
    if not answer.body.strip():
        return AnswerVerdict("busy", True, "HTTP %d with an empty body" % status)
    if status != 200:
        return AnswerVerdict("rejected", False, "HTTP %d where 200 was due" % status)
    if _is_html(answer):
        return AnswerVerdict("html", False, "an HTML page%s" % _hint(answer))
    return GOOD


def _is_html(answer):
    return answer.body.lstrip()[:1] == b"<" or "html" in answer.headers.get("content-type", "").lower()


def _hint(answer):
    """The start of the body, for a message: one line, short."""
    text = " ".join(answer.body[:400].decode("utf-8", "replace").split())
    return " (%s)" % text[:200] if text else ""


ADVICE = {
    "not_accepted": "Not an Azure VM, or the service is blocked: check the route to the address and the firewall.",
    "not_resolved": "Check the spelling of the endpoint.",
    "timed_out": "The first request ever may take two minutes: give the task a longer timeout.",
    "broken": "Something between this host and the service cuts connections: look for a proxy or a firewall.",
    "busy": "The service is busy or being updated, which may take 70 seconds: give the task a longer timeout.",
    "rejected": "This is not what the service answers to a correct request: check the endpoint and the api_version,"
    " of which auto takes one that is there.",
    "not_found": "The address answers, but has no such page: check the endpoint.",
    "redirect": "Something else answers here, such as a proxy or a captive portal: redirects are never followed.",
    "html": "Something else answers at this address, such as a proxy: the service speaks JSON.",
    "too_large": "No event document is that large: something else answers at this address.",
    "not_text": "Something else answers at this address: the service speaks UTF-8.",
}


def chance():
    """A random number from 0 to 1, without the whole of the module random."""
    return int.from_bytes(os.urandom(4), "big") / 2.0**32


Tried = collections.namedtuple("Tried", "answer verdict asked_to_wait")


def outcome_of(transport, method, target, body, connect_seconds, seconds):
    """One try, and what is to be thought of it."""
    headers = {"Metadata": "true", "Accept": "application/json", "Connection": "close"}
    if body is not None:
        headers["Content-Type"] = "application/json"
    try:
        answer = transport.send(method, target, body, headers, connect_seconds, seconds)
    except (_http.NotResolved, _http.NotAccepted, _http.Broken, _http.TimedOut, _http.TooLarge) as problem:
        return Tried(None, judge_problem(problem), None)
    return Tried(answer, judge(method, target, answer), retry_after(answer.headers))


def judge_problem(problem):
    if isinstance(problem, _http.NotResolved):
        return AnswerVerdict("not_resolved", False, "no address for that name (%s)" % problem)
    if isinstance(problem, _http.NotAccepted):
        return AnswerVerdict("not_accepted", True, "no connection (%s)" % problem)
    if isinstance(problem, _http.TimedOut):
        return AnswerVerdict("timed_out", False, "a connection, but no answer in time")
    if isinstance(problem, _http.TooLarge):
        return AnswerVerdict("too_large", False, "a body of more than %d bytes" % _http.LARGEST_BODY)
    return AnswerVerdict("broken", True, "a connection that ended without an answer (%s)" % problem)


def complaint_about(endpoint, method, target, verdict, often="", patience=""):
    """What was asked, what came of it, and what a person can do about it."""
    asked = "Asked %s %s%s, got %s%s.%s" % (method, endpoint, target, verdict.text.rstrip("."), often, patience)
    return "%s %s" % (asked, ADVICE[verdict.kind])


class Conversation:
    """Requests to one endpoint under one deadline, repeated where that makes sense, never in a hurry."""

    def __init__(self, transport, timeout, clock=time.monotonic, sleep=time.sleep, jitter=chance):
        self.transport = transport
        self.clock = clock
        self.sleep = sleep
        self.jitter = jitter
        self.timeout = timeout
        self.deadline = clock() + timeout
        self.accepted_by = clock() + SECONDS_TO_BE_ACCEPTED
        self.accepted = False
        self.sent_at = collections.deque(maxlen=REQUESTS_A_SECOND)

    def get(self, target):
        return self._ask("GET", target, None)

    def post(self, target, body, seconds_left=None, before_next_try=None):
        """Send once. Only what certainly was not taken in is sent again; the caller resolves the rest.

        `seconds_left` tells how much time there is for it, by a clock of the caller's. `before_next_try` is called when
        the wait for another try is over, and may raise what it likes.
        """
        return self._ask("POST", target, body, seconds_left, before_next_try)

    def _ask(self, method, target, body, seconds_left=None, before_next_try=None):
        started = self.clock()
        tries = 0
        while True:
            self._wait_for_our_turn()
            if seconds_left:
                self._shorten(seconds_left())
            tries += 1
            outcome = self._try(method, target, body)
            if outcome.verdict.kind is None:
                return outcome.answer
            if outcome.answer and outcome.answer.status == TOO_MANY_REQUESTS:
                # Others ask, too: from now on one a second. Else the reading before an approval would take its place.
                self.sent_at = collections.deque(self.sent_at, maxlen=1)
            wait = self._wait_before_next(tries, outcome.asked_to_wait)
            limit = self._limit()
            if not _may_ask_again(method, outcome, tries) or wait is None or self.clock() + wait > limit:
                raise self._failure(method, target, outcome, tries, self.clock() - started)
            self.sleep(wait)
            if before_next_try:
                before_next_try()

    def _shorten(self, seconds):
        if seconds <= 0:
            raise ImdsError("too_late", "It was too late to send it, so it was not sent.")
        self.deadline = min(self.deadline, self.clock() + seconds)

    def _try(self, method, target, body):
        now = self.clock()
        connect_seconds = max(0.1, min(SECONDS_PER_CONNECT, self._limit() - now))
        outcome = outcome_of(self.transport, method, target, body, connect_seconds, max(0.1, self.deadline - now))
        if outcome.verdict.kind not in ("not_resolved", "not_accepted"):
            self.accepted = True
        return outcome

    def _wait_for_our_turn(self):
        pause = min(self._until_our_turn(), self._limit() - self.clock())
        if pause > 0:
            self.sleep(pause)
        self.sent_at.append(self.clock())

    def _until_our_turn(self):
        return self.sent_at[0] + 1 - self.clock() if len(self.sent_at) == self.sent_at.maxlen else 0

    def _limit(self):
        return self.deadline if self.accepted else min(self.deadline, self.accepted_by)

    def _wait_before_next(self, tries, asked_to_wait):
        """Seconds to the next try, cut so that one more try fits before the deadline; None when none does."""
        turn, left = self._until_our_turn(), self._limit() - self.clock()
        if turn > left - FIRST_BACKOFF / 2:
            return None
        if asked_to_wait is not None:
            return max(turn, asked_to_wait)
        backoff = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1)) * (0.75 + self.jitter() / 2)
        return None if left <= FIRST_BACKOFF else max(turn, min(backoff, left - FIRST_BACKOFF / 2))

    def _failure(self, method, target, outcome, tries, spent):
        often = "" if tries == 1 else " (last of %d tries in %d s)" % (tries, spent)
        patience = ""
        if outcome.asked_to_wait is not None:
            patience = " It asked to wait %d s, longer than the timeout of %d s allows." % (
                outcome.asked_to_wait,
                round(self.timeout),
            )
        message = complaint_about(self.transport.endpoint, method, target, outcome.verdict, often, patience)
        return ImdsError(outcome.verdict.kind, message, outcome.answer.status if outcome.answer else None)


def _may_ask_again(method, outcome, tries):
    kind = outcome.verdict.kind
    if not outcome.verdict.retry or (kind == "not_found" and tries > NOT_THERE_YET_TRIES):
        return False
    if method != "POST":
        return True
    # What may have been taken in is not sent twice.
    return kind == "not_accepted" if outcome.answer is None else outcome.answer.status not in UNCLEAR_STATUSES


def retry_after(headers):
    """Seconds that a Retry-After header asks for, or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    seconds = _http.number_in(value)
    if seconds is not None:
        return seconds
    # Imported where it is needed, which is rarely: it is large.
    import email.utils

    try:
        return max(0, email.utils.mktime_tz(email.utils.parsedate_tz(value)) - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


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


def read_from(endpoints, api_version, with_instance, timeout, transport=_http.HttpTransport):
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
    return hashlib.sha256(json.dumps(documents.json_of(text), sort_keys=True).encode("ascii")).hexdigest()


def approve(
    endpoint,
    api_version,
    expected,
    body,
    timeout,
    transport=_http.HttpTransport,
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
        return isinstance(documents.json_of(text), dict)
    except ValueError:
        return False


def read(request, transport=_http.HttpTransport, discovered_endpoints=None):
    """`request` is {endpoints, api_version, with_instance, timeout}."""
    endpoints = request["endpoints"]
    if endpoints == ["auto"]:
        endpoints = [_http.DEFAULT_ENDPOINT] + (discovered_endpoints or endpoints_by_dhcp)()
    return read_from(endpoints, request["api_version"], request["with_instance"], request["timeout"], transport)
