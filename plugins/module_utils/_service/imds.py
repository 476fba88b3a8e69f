# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Speak HTTP to Azure's instance metadata service, and pass on what it says as it came.

This file runs on the managed host: standard library only, Python 3.6 or newer. What an
answer means is not known here; only whether it is one, and when asking again makes sense.
"""

import collections
import contextlib
import email.utils
import hashlib
import http.client
import json
import random
import socket
import threading
import time
from urllib.parse import urlsplit

DEFAULT_ENDPOINT = "http://169.254.169.254"
EVENTS_PATH = "/metadata/scheduledevents"
API_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
# In place of a version: the newest of these that the service answers, as some clouds lack some.
AUTO = "auto"
# The instance metadata has versions of its own; this one has every field that we use and is old
# enough for every cloud.
INSTANCE_TARGET = "/metadata/instance/compute?api-version=2019-06-01&format=json"

LARGEST_BODY = 1024 * 1024
# Nobody answers a connection on a machine that is not an Azure VM: do not spend the notice on that.
SECONDS_TO_BE_ACCEPTED = 15
SECONDS_PER_CONNECT = 5
# The service allows 5 requests a second to all processes of a VM together; one is left for the others.
REQUESTS_A_SECOND = 4
FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 8.0
# The instance metadata answers 404 for a short while after a VM was changed.
NOT_THERE_YET_TRIES = 3
# After these a POST may have been taken in all the same.
UNCLEAR_STATUSES = (500, 502, 504)

Answer = collections.namedtuple("Answer", "status headers body at")


class ImdsError(Exception):
    """The service gave no answer to build on. The text is for the user; `kind` is for the program.

    kind is one of: not_resolved, not_accepted, timed_out, broken, busy, rejected, not_found,
    redirect, html, too_large, not_text, too_late.
    """

    def __init__(self, kind, message, status=None):
        super(ImdsError, self).__init__(message)
        self.kind = kind
        self.status = status


class NotResolved(Exception):
    """The endpoint's name has no address."""


class NotAccepted(Exception):
    """No connection was made, so nothing was sent."""


class Broken(Exception):
    """The connection was made and ended without a whole answer: what was sent may have arrived."""


class TimedOut(Exception):
    """The connection was made and no whole answer came in the time given."""


class TooLarge(Exception):
    """The answer's body is larger than any event document."""


def check_endpoint(endpoint):
    """Return the endpoint without a trailing slash, or raise ValueError with a sentence for the user."""
    complaint = "endpoint must look like %s (http://ADDRESS or http://ADDRESS:PORT), not %r" % (
        DEFAULT_ENDPOINT,
        endpoint,
    )
    if "://" not in endpoint:
        raise ValueError("%s: the http:// is missing" % complaint)
    parts = urlsplit(endpoint)
    if parts.scheme == "https":
        raise ValueError("%s: the metadata service speaks plain http only" % complaint)
    if parts.scheme != "http":
        raise ValueError("%s: %s is not a scheme that the metadata service speaks" % (complaint, parts.scheme))
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("%s: leave out the path, it is added for you" % complaint)
    if parts.username is not None or parts.password is not None:
        raise ValueError("%s: the metadata service takes no credentials" % complaint)
    try:
        port = parts.port
    except ValueError:
        raise ValueError("%s: the port is not a number from 1 to 65535" % complaint) from None
    if not parts.hostname or any(c.isspace() for c in endpoint) or port == 0:
        raise ValueError(complaint)
    return endpoint.rstrip("/")


class HttpTransport:
    """One request, one connection, through the standard library: no proxy, no redirect, a hard deadline."""

    def __init__(self, endpoint):
        parts = urlsplit(endpoint)
        self.endpoint = endpoint
        self.host = parts.hostname
        self.port = parts.port or 80

    def send(self, method, target, body, headers, connect_seconds, seconds):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=connect_seconds)
        try:
            self._connect(connection)
            return self._exchange(connection, method, target, body, headers, seconds)
        finally:
            connection.close()

    @staticmethod
    def _connect(connection):
        try:
            connection.connect()
        except (socket.gaierror, UnicodeError) as error:
            raise NotResolved(str(error)) from None
        except socket.timeout:
            raise NotAccepted("no answer to the connection attempt") from None
        except OSError as error:
            raise NotAccepted(error.strerror or str(error)) from None

    @staticmethod
    def _exchange(connection, method, target, body, headers, seconds):
        # A socket's own time-out starts again with every byte; the watchdog's does not.
        expired = threading.Event()
        sock = connection.sock
        sock.settimeout(seconds)

        def expire():
            expired.set()
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

        watchdog = threading.Timer(seconds, expire)
        watchdog.daemon = True
        watchdog.start()
        try:
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            content = response.read(LARGEST_BODY + 1)
            if len(content) > LARGEST_BODY:
                raise TooLarge()
            if response.length:
                raise Broken("the body ended early")
            # The standard library takes headers that end early for all of them.
            if expired.is_set():
                raise TimedOut()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, fields, content, time.time())
        except socket.timeout:
            raise TimedOut() from None
        except (OSError, http.client.HTTPException, Broken) as error:
            if expired.is_set():
                raise TimedOut() from None
            raise Broken(str(error) or type(error).__name__) from None
        finally:
            watchdog.cancel()


# What to do about one answer: take it (kind None), ask again (retry), or give up.
Verdict = collections.namedtuple("Verdict", "kind retry text")
GOOD = Verdict(None, False, "")


def judge(method, target, answer):
    """Say whether an answer can be passed on, is worth asking again for, or ends the task."""
    status = answer.status
    if status in (408, 410, 429) or 500 <= status <= 599:
        return Verdict("busy", True, "HTTP %d%s" % (status, _hint(answer)))
    if 300 <= status <= 399:
        where = answer.headers.get("location", "nowhere")
        return Verdict(
            "redirect", False, "HTTP %d, a redirect to %s, which the metadata service never sends" % (status, where)
        )
    if status == 404:
        return Verdict("not_found", target == INSTANCE_TARGET, "HTTP 404 Not Found%s" % _hint(answer))
    if not 200 <= status <= 299:
        return Verdict("rejected", False, "HTTP %d%s" % (status, _hint(answer)))
    if method != "GET":
        return GOOD
    if not answer.body.strip():
        return Verdict("busy", True, "HTTP %d with an empty body" % status)
    if status != 200:
        return Verdict("rejected", False, "HTTP %d where 200 was due" % status)
    if _is_html(answer):
        return Verdict("html", False, "an HTML page%s" % _hint(answer))
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


class Conversation:
    """Requests to one endpoint under one deadline, repeated where that makes sense, never in a hurry."""

    def __init__(self, transport, timeout, clock=time.monotonic, sleep=time.sleep, jitter=random.random):
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
        return self._ask("GET", target, None, self._judge_problem)

    def post(self, target, body, seconds_left=None):
        """Send once. Only what certainly was not taken in is sent again; the caller resolves the rest.

        `seconds_left` tells how much time there is for it, by a clock of the caller's.
        """
        return self._ask("POST", target, body, self._judge_problem_of_a_post, seconds_left)

    def _ask(self, method, target, body, judge_problem, seconds_left=None):
        started = self.clock()
        tries = 0
        while True:
            self._wait_for_our_turn()
            if seconds_left:
                self._shorten(seconds_left())
            tries += 1
            try:
                answer = self._send(method, target, body)
                verdict = judge(method, target, answer)
                asked_to_wait = retry_after(answer.headers)
            except (NotResolved, NotAccepted, Broken, TimedOut, TooLarge) as problem:
                answer, asked_to_wait = None, None
                verdict = judge_problem(problem)
            if verdict.kind is None:
                return answer
            wait = self._wait_before_next(tries, asked_to_wait)
            limit = self._limit()
            out_of_tries = verdict.kind == "not_found" and tries > NOT_THERE_YET_TRIES
            uncertain = method == "POST" and answer is not None and answer.status in UNCLEAR_STATUSES
            if not verdict.retry or out_of_tries or uncertain or wait is None or self.clock() + wait > limit:
                spent = self.clock() - started
                raise self._failure(method, target, verdict, tries, spent, asked_to_wait, answer)
            self.sleep(wait)

    def _shorten(self, seconds):
        if seconds <= 0:
            raise ImdsError("too_late", "It was too late to send it, so it was not sent.")
        self.deadline = min(self.deadline, self.clock() + seconds)

    def _send(self, method, target, body):
        now = self.clock()
        headers = {"Metadata": "true", "Accept": "application/json", "Connection": "close"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connect_seconds = max(0.1, min(SECONDS_PER_CONNECT, self._limit() - now))
        try:
            answer = self.transport.send(method, target, body, headers, connect_seconds, max(0.1, self.deadline - now))
        except (Broken, TimedOut, TooLarge):
            self.accepted = True
            raise
        self.accepted = True
        return answer

    @staticmethod
    def _judge_problem(problem):
        if isinstance(problem, NotResolved):
            return Verdict("not_resolved", False, "no address for that name (%s)" % problem)
        if isinstance(problem, NotAccepted):
            return Verdict("not_accepted", True, "no connection (%s)" % problem)
        if isinstance(problem, TimedOut):
            return Verdict("timed_out", False, "a connection, but no answer in time")
        if isinstance(problem, TooLarge):
            return Verdict("too_large", False, "a body of more than %d bytes" % LARGEST_BODY)
        return Verdict("broken", True, "a connection that ended without an answer (%s)" % problem)

    def _judge_problem_of_a_post(self, problem):
        verdict = self._judge_problem(problem)
        return verdict if verdict.kind == "not_accepted" else verdict._replace(retry=False)

    def _wait_for_our_turn(self):
        if len(self.sent_at) == REQUESTS_A_SECOND:
            pause = self.sent_at[0] + 1 - self.clock()
            if pause > 0:
                self.sleep(pause)
        self.sent_at.append(self.clock())

    def _limit(self):
        return self.deadline if self.accepted else min(self.deadline, self.accepted_by)

    def _wait_before_next(self, tries, asked_to_wait):
        """Seconds to the next try, cut so that one more try fits before the deadline; None when none does."""
        if asked_to_wait is not None:
            return asked_to_wait
        backoff = min(LONGEST_BACKOFF, FIRST_BACKOFF * 2 ** (tries - 1)) * (0.75 + self.jitter() / 2)
        left = self._limit() - self.clock()
        return None if left <= FIRST_BACKOFF else min(backoff, left - FIRST_BACKOFF / 2)

    def _failure(self, method, target, verdict, tries, spent, asked_to_wait, answer):
        often = "" if tries == 1 else " (last of %d tries in %d s)" % (tries, spent)
        patience = (
            ""
            if asked_to_wait is None
            else " It asked to wait %d s, longer than the timeout of %d s allows."
            % (
                asked_to_wait,
                round(self.timeout),
            )
        )
        message = "Asked %s %s%s, got %s%s.%s %s" % (
            method,
            self.transport.endpoint,
            target,
            verdict.text.rstrip("."),
            often,
            patience,
            ADVICE[verdict.kind],
        )
        return ImdsError(verdict.kind, message, answer.status if answer else None)


def retry_after(headers):
    """Seconds that a Retry-After header asks for, or None."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if value.isdigit():
        return int(value)
    try:
        return max(0, email.utils.mktime_tz(email.utils.parsedate_tz(value)) - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


def events_target(api_version):
    return "%s?api-version=%s" % (EVENTS_PATH, api_version)


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


def read(endpoints, api_version, with_instance, timeout, transport=HttpTransport):
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
    return hashlib.sha256(json.dumps(json.loads(text), sort_keys=True).encode("ascii")).hexdigest()


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
    """Send an approval if the event document is still the one that it was decided on.

    Returns what `read` does, with `sent` (the service took the approval) and `problem`: None, or {message, unclear},
    where unclear says that the approval may have arrived all the same. `expected_sha256` is the digest of the expected
    document, in its place; so is `is_expected`, which says of a document whether it will do. `about_to_send` is called
    with the document before the first try, and may raise what it likes; `seconds_left` says how much time there is.
    """
    conversation = Conversation(transport(endpoint), timeout)
    version, answer = get_events(conversation, api_version)
    events = passed_on(answer, conversation.transport)
    result = {"endpoint": endpoint, "api_version": version, "events": events, "instance": None}
    result.update(sent=False, problem=None)
    if not _is_json_object(events["body"]):
        return result
    if is_expected:
        is_same = is_expected(events["body"])
    else:
        is_same = document_digest(events["body"]) == (expected_sha256 or document_digest(expected))
    if not is_same:
        return result
    if about_to_send:
        about_to_send(events["body"])
    try:
        conversation.post(events_target(version), body, seconds_left)
        result["sent"] = True
    except ImdsError as error:
        unclear = error.kind in ("broken", "timed_out", "too_large") or error.status in UNCLEAR_STATUSES
        result["problem"] = {"message": str(error), "unclear": unclear}
    return result


def _is_json_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
