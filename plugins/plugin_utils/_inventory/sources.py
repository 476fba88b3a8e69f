# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sources of the inventory: endpoints, collected readings and HTTP by requests."""

from __future__ import annotations

import dataclasses
import functools
import glob
import queue
import socket
import threading
import time
import typing as t
from pathlib import Path
from urllib.parse import urlsplit

from ...module_utils._azure import http, imds
from ...module_utils._azure.http import Answer, TimedOut
from .._azure import events as azure
from .._azure.events import BadReading
from . import matching
from .matching import Failure, Reading

try:
    import requests
    import urllib3
except ImportError as error:
    REQUESTS_ERROR: ImportError | None = error
else:
    REQUESTS_ERROR = None

# Bytes of a body between two looks at the clock.
PIECE = 4096
# A connection attempt ends before the deadline, or it would not be known whether there was a connection.
_SHARE_FOR_CONNECTING = 0.9

# A session is not made for two threads at once.
_own = threading.local()


def _session() -> requests.Session:
    if not hasattr(_own, "session"):
        session = requests.Session()
        # Neither proxies nor .netrc: the service must not be asked through anybody else.
        session.trust_env = False
        session.headers.clear()
        _own.session = session
    return _own.session


class RequestsTransport:
    """One request to one endpoint: no proxy, no redirect, a limit to the body, a hard deadline."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint

    def send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: dict[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> Answer:
        request = functools.partial(
            _session().request,
            method,
            self.endpoint + target,
            data=body,
            headers={**headers, "Accept-Encoding": "identity"},
            # requests gives every address of a name this time; all of them together shall not take more.
            timeout=(min(connect_seconds, seconds * _SHARE_FOR_CONNECTING) / self._addresses(), seconds),
            allow_redirects=False,
            stream=True,
        )
        try:
            return _within(seconds, functools.partial(_exchange, request, time.monotonic() + seconds))
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as problem:
            raise _in_our_words(problem) from None

    def _addresses(self) -> int:
        # requests hides in nested exceptions, which change with its version, that a name has no address.
        parts = urlsplit(self.endpoint)
        try:
            return len(socket.getaddrinfo(parts.hostname, parts.port or 80, type=socket.SOCK_STREAM))
        except (socket.gaierror, UnicodeError) as problem:
            raise http.NotResolved(str(problem)) from None


def _within(seconds: float, exchange: t.Callable[[], Answer]) -> Answer:
    """What the exchange gives or raises, or TimedOut.

    A time-out of requests starts again with every byte, and headers can't be read in pieces: they are read in a thread
    that is waited for only so long. One whose headers drip on stays behind, and ends with the program at the latest.
    """
    outcomes: queue.SimpleQueue[Answer | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcomes.put(exchange())
        except BaseException as problem:  # noqa: BLE001 - it is raised again where it can be seen
            outcomes.put(problem)

    threading.Thread(target=work, daemon=True).start()
    try:
        outcome = outcomes.get(timeout=seconds)
    except queue.Empty:
        # The thread may still be busy with it.
        del _own.session
        raise TimedOut() from None
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _exchange(request: t.Callable[[], requests.Response], deadline: float) -> Answer:
    with request() as response:
        content = b""
        for piece in response.raw.stream(PIECE, decode_content=False):
            content += piece
            if len(content) > http.LARGEST_BODY:
                raise http.TooLarge()
            if time.monotonic() > deadline:
                raise TimedOut()
        # What was promised and did not come.
        if response.raw.length_remaining:
            raise http.Broken("the body ended early")
        fields = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, fields, content, time.time())


def _in_our_words(problem: Exception) -> Exception:
    causes = _causes(problem)
    if isinstance(problem, requests.ConnectTimeout):
        return http.NotAccepted("no answer to the connection attempt")
    if any(isinstance(cause, urllib3.exceptions.NewConnectionError) for cause in causes):
        return http.NotAccepted(_in_words(causes[-1]))
    if isinstance(problem, (requests.Timeout, urllib3.exceptions.TimeoutError, socket.timeout)):
        return TimedOut()
    return http.Broken(_in_words(causes[-1]))


def _causes(problem: BaseException) -> list[BaseException]:
    """The problem and what it is nested around, the innermost last."""
    causes = [problem]
    while True:
        inner = (getattr(causes[-1], "reason", None), causes[-1].__cause__, causes[-1].__context__)
        nested = [cause for cause in inner if isinstance(cause, BaseException) and cause not in causes]
        if not nested:
            return causes
        causes.append(nested[0])


def _in_words(cause: BaseException) -> str:
    """In the operating system's words, where it has any."""
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


# No reading is larger; a glob that catches something else must not fill the memory.
LARGEST_FILE = 16 * 1024 * 1024

ReadingOrFailure = tuple[list[Reading], list[Failure]]


class EndpointReader:
    """Reads endpoints, each at most once, in parallel. What a cache already has is not asked for."""

    def __init__(
        self,
        transport: t.Callable[[str], t.Any],
        api_version: str,
        timeout: float,
        known: t.Callable[[str, bool], Reading | None] = lambda endpoint, with_identity: None,
    ) -> None:
        self.transport = transport
        self.api_version = api_version
        self.timeout = timeout
        self.known = known
        self.warnings: list[str] = []
        # What was asked for in this run, by endpoint: what a cache should have from now on.
        self.fresh: dict[str, tuple[Reading, bool]] = {}
        self._lock = threading.Lock()
        self._locks: dict[str, threading.Lock] = {}
        self._outcomes: dict[str, Reading | Exception] = {}
        self._with_identity: set[str] = set()

    def read(self, asked: t.Sequence[matching.EndpointQuestion], workers: int) -> ReadingOrFailure:
        for question in asked:
            if question.with_identity:
                self._with_identity.update(question.endpoints)
        answers = in_parallel([functools.partial(self._ask, question) for question in asked], workers)
        readings: list[Reading] = []
        failures: list[Failure] = []
        for answer in answers:
            if isinstance(answer, Reading):
                readings.append(answer)
            else:
                failures.append(answer)
        return readings, failures

    def _ask(self, question: matching.EndpointQuestion) -> Reading | Failure:
        """The first good answer to a question. Twice the time of one endpoint is spent on a group, not more."""
        give_up_at = time.monotonic() + 2 * self.timeout
        problems: list[str] = []
        for endpoint, hosts in question.endpoints.items():
            if problems and time.monotonic() >= give_up_at:
                break
            outcome = self._outcome(endpoint)
            if isinstance(outcome, Reading):
                return dataclasses.replace(outcome, hosts=hosts, listed=question.listed)
            problems.append(str(outcome))
        text = problems[0]
        if len(problems) > 1:
            text += f" So it was with {len(problems) - 1} more endpoints of the delivery group."
        if len(problems) < len(question.endpoints):
            text += f" The time was up before {len(question.endpoints) - len(problems)} others could be asked."
        everyone = tuple(host for hosts in question.endpoints.values() for host in hosts)
        return Failure(next(iter(question.endpoints)), text, everyone, question.listed)

    def _outcome(self, endpoint: str) -> Reading | Exception:
        with self._lock:
            mine = self._locks.setdefault(endpoint, threading.Lock())
        with mine:
            if endpoint not in self._outcomes:
                try:
                    self._outcomes[endpoint] = self._read(endpoint)
                except (imds.ImdsError, BadReading, ValueError) as error:
                    self._outcomes[endpoint] = error
            return self._outcomes[endpoint]

    def _read(self, endpoint: str) -> Reading:
        with_identity = endpoint in self._with_identity
        known = self.known(endpoint, with_identity)
        if known:
            return known
        conversation = imds.Conversation(self.transport(http.check_endpoint(endpoint)), self.timeout)
        version, answered = imds.get_events(conversation, self.api_version)
        answer = imds.passed_on(answered, conversation.transport)
        try:
            document = azure.parse_document(answer["body"])
        except BadReading as error:
            raise BadReading(
                f"{endpoint} did not answer like the metadata service. {error}."
                " Something else may be answering at this address, such as a proxy."
            ) from None
        self._warn_about(version)
        identity = self._identity(conversation) if with_identity else None
        reading = Reading(
            origin=endpoint,
            read_at=answer["at"],
            events=document["events"],
            document_incarnation=document["document_incarnation"],
            this_host=identity,
        )
        self.fresh[endpoint] = (reading, with_identity)
        return reading

    def _warn_about(self, version: str) -> None:
        """Once, and only of a version that the user has left to us."""
        warning = azure.warning_about_version(version) if self.api_version == imds.AUTO else None
        with self._lock:
            if warning and warning not in self.warnings:
                self.warnings.append(warning)

    def _identity(self, conversation: imds.Conversation) -> dict[str, str | None] | None:
        # The events are good whoever answered; without a name they only cover fewer hosts.
        try:
            return azure.parse_identity(
                imds.passed_on(conversation.get(imds.INSTANCE_TARGET), conversation.transport)["body"]
            )
        except (imds.ImdsError, BadReading) as error:
            self.warnings.append(f"The events were read, but not the name of the VM that answered. {error}")
            return None


def in_parallel(tasks: t.Sequence[t.Callable[[], t.Any]], workers: int) -> list[t.Any]:
    """The results of the tasks, in their order.

    Not by concurrent.futures: it lets nobody leave with ^C before a hanging endpoint has used up its time.
    """
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[int, t.Any, BaseException | None]] = queue.SimpleQueue()
    for number in range(len(tasks)):
        todo.put(number)

    def work() -> None:
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                done.put((number, tasks[number](), None))
            except Exception as error:  # noqa: BLE001 - it is raised again where it can be seen
                done.put((number, None, error))

    for _number in range(min(workers, len(tasks))):
        threading.Thread(target=work, daemon=True).start()
    results: list[t.Any] = [None] * len(tasks)
    for _task in tasks:
        number, result, error = done.get()
        if error:
            raise error
        results[number] = result
    return results


def read_files(patterns: t.Sequence[str], folder: Path) -> ReadingOrFailure:
    """Saved readings: files or globs, relative to the folder of the inventory file."""
    readings: list[Reading] = []
    failures: list[Failure] = []
    paths: dict[Path, None] = {}
    for pattern in patterns:
        # Path.glob takes no absolute patterns.
        found = sorted(glob.glob(str(folder / Path(pattern).expanduser()), recursive=True))  # noqa: PTH207
        files = [Path(name) for name in found if not Path(name).is_dir()]
        if files:
            paths.update(dict.fromkeys(files))
        else:
            failures.append(Failure(pattern, f"paths: {pattern} matches no file (looked from {folder}).", listed=True))
    for path in paths:
        try:
            readings.append(_read_file(path))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            failures.append(Failure(str(path), f"{path} is not a reading that can be used: {reason}", listed=True))
    return readings, failures


def _read_file(path: Path) -> Reading:
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise BadReading(f"it has {size} bytes, which no reading has")
    try:
        known = azure.parse_saved(path.read_text(encoding="utf-8-sig"), time.time())
    except UnicodeDecodeError:
        raise BadReading("it is not text in UTF-8") from None
    if known["read_at"] is None:
        # An event document does not say when it was read; the file does, as long as nobody touches it.
        known["read_at"] = path.stat().st_mtime
    return Reading(origin=str(path), listed=True, **known)


def read_facts(hosts: t.Iterable[str], facts_of: t.Callable[[str], t.Any], where: str) -> ReadingOrFailure:
    """The `maintenance_status` facts of hosts. `facts_of` gives a host's facts, or None."""
    readings: list[Reading] = []
    failures: list[Failure] = []
    without: list[str] = []
    not_read: dict[str, list[str]] = {}
    for host in hosts:
        try:
            facts = facts_of(host)
        except (OSError, ValueError) as error:
            failures.append(Failure(host, f"The facts of {host} can't be had from {where}: {error}", (host,)))
            continue
        if not isinstance(facts, dict) or "maintenance_status" not in facts:
            without.append(host)
        elif not facts["maintenance_status"]:
            not_read.setdefault(str(facts.get("maintenance_unread") or "no answer"), []).append(host)
        else:
            try:
                known = azure.known_of_status(facts["maintenance_status"])
            except BadReading as error:
                failures.append(Failure(host, f"The fact maintenance_status of {host} can't be used: {error}", (host,)))
            else:
                readings.append(Reading(origin=f"the fact of {host}", hosts=(host,), told_by_host=True, **known))
    if without:
        text = f"There is no maintenance_status in {where}: run the playbook maintenance.azure.collect on them first"
        failures.append(Failure(where, text, tuple(without)))
    for reason, names in not_read.items():
        text = f"The playbook maintenance.azure.collect could not read them when it last ran: {reason}"
        failures.append(Failure(where, text, tuple(names)))
    return readings, failures
