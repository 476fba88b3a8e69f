# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service by curl, for the plain modules: hosts without Python can be read and approved."""

from __future__ import annotations

import re
import shlex
import typing as t

from ansible.plugins.action import ActionBase

from ...module_utils._azure import http as _http
from ...module_utils._azure import imds as _imds
from ...module_utils._host import exchange as _exchange
from . import connection

# curl only passes on what came; retries and the rest of the conversation are in imds.py, which here runs on the
# controller.

# Said before anything is asked of the service: without it, nothing has been.
BEGUN = "--maintenance.azure begins--"
# Ends an answer; then come curl's exit code and the time on the host.
MARK = "--maintenance.azure--"
# Ends what curl wrote; in between is when the connection was made.
CONNECTED = "--connected at--"
# Nothing larger is read. An answer that is cut has no end.
LARGEST_ANSWER = _http.LARGEST_BODY + 128 * 1024
# curl does not know an option, or can't be run: nothing was sent.
UNUSABLE = (2, 126, 127)

# For each request; `--next` forgets those of the one before.
OPTIONS = (
    "-gsSi --proto =http --noproxy '*' -H 'Metadata: true' -H 'Accept: application/json' -H 'Expect:'"
    f" -w '{CONNECTED}%{{time_connect}};'"
)
# The answer comes as numbers, so that no shell, terminal or encoding on the way can change it. `-q` comes first: no
# settings of the user. Of several requests, the first that fails is the last, so that the exit code is known to be its.
PROGRAM = f"""command -v curl >/dev/null && command -v od >/dev/null || exit 127
echo '{BEGUN}'
exec 4>&1
ask() {{
r=$({{ {{ curl -q --fail-early "$@" 2>&1; echo "$?" >&3; }} | od -An -v -tx1 -N {LARGEST_ANSWER} >&4; }} 3>&1)
echo "{MARK} $r $(date +%s)"
}}
"""
# Who this VM is, is asked along with the events, as the way to the host is the longest part. Where that takes longer
# it is asked for again by itself, under the deadline of the task.
SECONDS_TO_ASK_ALONG = 5
LEASES = f"""echo '{BEGUN}'
for f in {" ".join("/" + pattern for pattern in _imds.LEASE_FILES)}; do
[ -f "$f" ] && [ -r "$f" ] && {{ od -An -v -tx1 "$f"; echo "{MARK} 0 $(date +%s)"; }}
done
true"""

_END = re.compile(rf"{MARK} ([0-9]{{1,18}}) ([0-9]{{1,18}})")
_CONNECTED = re.compile(CONNECTED.encode() + rb"([\d.,]+);")
_COMPLAINT = re.compile(rb"curl: \(\d+\) ([^\r\n]*)")


class Unusable(Exception):
    """There is no curl on this host, or no shell as we know it. Nothing was asked."""


class Told(t.NamedTuple):
    """What one curl wrote, its exit code, and when."""

    output: bytes
    exit_code: int
    at: int


def run_by_curl(action: ActionBase, request: dict[str, t.Any]) -> dict[str, t.Any] | None:
    """Return what the host code would, or None where this way does not work and nothing was asked."""
    if action._task.async_val or action._connection._shell.SHELL_FAMILY != "sh":
        return None
    if (request.get("approval") or {}).get("marking"):
        # A journal is written along with it, for which a shell is no good.
        return None
    host = CurlHost(action)
    # Looking for a version may take as many requests as a VM has a second: then nothing is asked along.
    looks_for_version = request["api_version"] == _imds.AUTO
    with_instance = request["with_instance"] and not request.get("approval") and not looks_for_version
    try:
        return _exchange.answered(
            request,
            bool(action._task.check_mode),
            transport=lambda endpoint: CurlTransport(host, endpoint, with_instance),
            discovered_endpoints=lambda: _imds.endpoints_of(
                (told.output.decode("utf-8", "replace") for told in host.run(LEASES)), host.now
            ),
        )
    except Unusable:
        return None


class CurlHost:
    """Runs programs of the shell on the host of a task."""

    def __init__(self, action: ActionBase) -> None:
        self.action = action
        self.now = 0

    def run(self, program: str) -> list[Told]:
        connection.notice_silence(self.action._connection)
        environment = self.action._compute_environment_string()
        result = self.action._low_level_execute_command(f"export {environment}; {program}" if environment else program)
        said, begun, output = result["stdout"].partition(BEGUN)
        if not begun:
            raise Unusable(said)
        # Numbers, exit code and time of the first answer, then of the next; last what comes after them all.
        parts = _END.split(output)
        found = [Told(_bytes(parts[n]), int(parts[n + 1]), int(parts[n + 2])) for n in range(0, len(parts) - 1, 3)]
        self.now = found[-1].at if found else self.now
        return found


def _bytes(numbers: str) -> bytes:
    try:
        return bytes.fromhex("".join(numbers.split()))
    except ValueError:
        # Something else got in between, so it is not known what curl wrote.
        return b""


class CurlTransport:
    """What imds.py calls a transport."""

    def __init__(self, host: CurlHost, endpoint: str, with_instance: bool) -> None:
        self.host = host
        self.endpoint = endpoint
        self.ask_along = _imds.INSTANCE_TARGET if with_instance else None
        self.kept: dict[str, _http.Answer] = {}

    def send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: t.Mapping[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> _http.Answer:
        if target in self.kept:
            return self.kept.pop(target)
        ask = f"ask {self._request(target, connect_seconds, seconds)}"
        along, self.ask_along = self.ask_along, None
        if method == "POST":
            # Ids of events are in it, which never become a word of a shell.
            numbers = "".join(f"\\0{byte:03o}" for byte in (body or "").encode())
            ask = f"printf '%b' '{numbers}' | {ask} -H 'Content-Type: application/json' --data-binary @-"
        elif along and along != target:
            ask += f" --next {self._request(along, connect_seconds, min(seconds, SECONDS_TO_ASK_ALONG))}"
        told = self.host.run(PROGRAM + ask)
        if not told:
            raise _http.Broken("what curl said was cut off")
        first, *second = answers_of(told[0])
        if along and second and isinstance(second[0], _http.Answer):
            self.kept[along] = second[0]
        if isinstance(first, Exception):
            raise first
        return first

    def _request(self, target: str, connect_seconds: float, seconds: float) -> str:
        url = shlex.quote(self.endpoint + target)
        return f"{OPTIONS} --connect-timeout {connect_seconds:.3f} -m {seconds:.3f} {url}"


def answers_of(told: Told) -> list[_http.Answer | Exception]:
    """The answers of the service, in order; the last may be the exception that says why there is none."""
    if told.exit_code in UNUSABLE:
        raise Unusable(str(told.exit_code))
    ends = list(_CONNECTED.finditer(told.output))
    starts = [0, *(end.end() for end in ends)]
    parts = [told.output[start : end.start()] for start, end in zip(starts, ends, strict=False)]
    failed: list[_http.Answer | Exception] = []
    if told.exit_code or not parts:
        # The one that failed has an end as well, unless it was cut off.
        parts = parts[:-1]
        failed = [_failure(told, ends[-1].group(1) if ends else b"?")]
    return [*(_answer(part, told.at) for part in parts), *failed]


def _failure(told: Told, connected_at: bytes) -> Exception:
    complaint = _COMPLAINT.search(told.output)
    reason = complaint.group(1).decode("utf-8", "replace") if complaint else f"curl ended with {told.exit_code}"
    if told.exit_code == 6:
        return _http.NotResolved(reason)
    if told.exit_code == 7 or (told.exit_code == 28 and not connected_at.strip(b"0.,")):
        return _http.NotAccepted(reason)
    if told.exit_code == 28:
        return _http.TimedOut()
    if len(told.output) >= LARGEST_ANSWER:
        return _http.TooLarge()
    return _http.Broken(reason)


def _answer(output: bytes, at: int) -> _http.Answer | Exception:
    while True:
        head, blank, rest = output.partition(b"\r\n\r\n")
        lines = head.decode("iso-8859-1").split("\r\n")
        status = re.fullmatch(r"HTTP/[\d.]+ (\d{3})(?: .*)?", lines[0])
        if not blank or not status:
            return _http.Broken("no HTTP answer")
        if not status.group(1).startswith("1"):
            break
        output = rest
    if len(rest) > _http.LARGEST_BODY:
        return _http.TooLarge()
    fields = (line.partition(":") for line in lines[1:])
    return _http.Answer(int(status.group(1)), {n.strip().lower(): v.strip() for n, _colon, v in fields}, rest, at)
