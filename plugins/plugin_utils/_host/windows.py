# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Host commands for Windows hosts, carried out on the controller: files, clock and boot of such a host."""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import hashlib
import inspect
import json
import ntpath
import re
import time
import types
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ansible.plugins.action import ActionBase

from ...module_utils._azure import http as _http
from ...module_utils._azure import imds as _imds
from ...module_utils._host import files
from ...module_utils._host.approval_command import SECONDS_TO_SEND
from ...module_utils._host.clock import Moment
from . import answers as _answers

MODULE = "maintenance.azure._windows_host"
WINDOWS_SHELLS = ("powershell", "cmd")

WindowsAction: t.TypeAlias = dict[str, t.Any]
ActionResult: t.TypeAlias = dict[str, t.Any]


class ActionsFailed(Exception):
    """The host did not do what it was asked for, or did not say so. `result` is a failure as any host half has it."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        super().__init__(result["msg"])
        self.result = result


def is_windows(action: ActionBase) -> bool:
    """Whether the host of a task has a shell of the PowerShell family."""
    return action._connection._shell.SHELL_FAMILY in WINDOWS_SHELLS


class WindowsActions:
    """The host of a task, and the one call by which something is done there."""

    def __init__(self, action: ActionBase, task_vars: dict[str, t.Any]) -> None:
        self.action = action
        self.task_vars = task_vars

    def done(self, actions: Sequence[WindowsAction]) -> list[ActionResult]:
        """What became of each, up to the first that has a `problem`."""
        answer = _answers.checked(
            self.action._execute_module(
                module_name=MODULE, module_args={"actions": list(actions)}, task_vars=self.task_vars
            ),
            _answers.ACTIONS,
        )
        if answer.get("failed"):
            raise ActionsFailed(answer)
        results: list[ActionResult] = answer["results"]
        whole = len(results) == len(actions) or (bool(results) and bool(results[-1].get("problem")))
        if not whole or len(results) > len(actions) or any(one.get("problem") for one in results[:-1]):
            raise ActionsFailed(unexpected(f"{len(results)} answers to {len(actions)} actions"))
        return results


def unexpected(what: str) -> dict[str, t.Any]:
    return {
        "failed": True,
        "changed": False,
        "kind": "unexpected",
        "msg": f"The host answered something else than it was asked for: {what}. Nothing of it was used",
    }


# Windows has no boot id. It counts its boots; where the count is missing, a boot is known by when it was, counted back
# from the controller's time by the uptime. The time of day on the host plays no part: it is set after a Freeze.

# So much may differ what one and the same boot is counted back to.
SECONDS_OF_DOUBT = 60
_UNCOUNTED = re.compile(r"up-since-(\d{1,12})")


def boot_name(count: int | None, uptime: float, now: float, texts: Iterable[str]) -> str:
    """`texts` are those in which earlier names of this boot may be: one that fits is used again."""
    if count is not None:
        return f"boot-{count}"
    since = round(now - uptime)
    earlier = {int(found) for text in texts for found in _UNCOUNTED.findall(text)}
    same = [moment for moment in earlier if since - moment <= SECONDS_OF_DOUBT]
    return f"up-since-{max(same, default=since)}"


LINUX_FOLDER = "/var/lib/azure-maintenance"
WINDOWS_FOLDER = r"C:\ProgramData\azure-maintenance"


def windows_path(path: str) -> str:
    """The path on a Windows host: what is by default below /var/lib on Linux is below C:\\ProgramData there."""
    if not path.startswith(f"{LINUX_FOLDER}/"):
        return path
    return ntpath.join(WINDOWS_FOLDER, *path[len(LINUX_FOLDER) + 1 :].split("/"))


def is_of_windows(path: str) -> bool:
    """Whether only Windows takes that for an absolute path."""
    return bool(re.match(r"[A-Za-z]:[\\/]|\\\\", path))


# The host halves run on the controller: they look at the host, and decide. What they write is kept here until they end,
# or send an approval, and goes to the host as one list of actions: compare the boot, the document and the files with
# those that were judged, then write. If anything has changed the host does nothing, and is looked at again.

# The count of boots, the uptime, and when that was heard by this machine's own uptime.
HeardClock: t.TypeAlias = tuple[int | None, float, float]

# Read with a margin, as what comes back has to be checked as one text.
LARGEST_READ = 4 * 1024 * 1024
# So long after a look what it has shown may be acted on: as long as the host half on Linux tries to send.
SECONDS_OF_A_LOOK = SECONDS_TO_SEND
# The uptime is told in tenths.
SECONDS_OF_ROUNDING = 0.2
# The ending of the copy of a journal that was closed.
LAST_JOURNAL = ".last.json"


class Changed(Exception):
    """The host is not as it was seen: nothing was done there, and it has to be looked at anew."""


class OtherBytes(Changed):
    """The service says something else than it did, or the same in other bytes."""


@dataclasses.dataclass
class Content:
    """What a file holds. `compares`: it is written only in place of what was seen."""

    path: str
    compares: bool
    is_known: bool = False
    was: bytes | None = None
    now: bytes | None = None
    is_changed: bool = False
    doubt: ActionResult | None = None

    @property
    def turn(self) -> int:
        """A copy comes first, then what is compared, and what rests on that comes last."""
        return 0 if self.path.endswith(LAST_JOURNAL) else 1 if self.compares else 2

    def put(self, content: bytes | None) -> None:
        self.now, self.is_changed = content, True

    def learn(self, content: bytes | None) -> None:
        self.was = self.now = content
        self.is_known, self.is_changed, self.doubt = True, False, None

    def action(self) -> WindowsAction:
        given = {"content": None if self.now is None else base64.b64encode(self.now).decode()}
        if not self.compares:
            return {"action": "replace", "path": self.path, "whatever_is_there": True, **given}
        expected = None if self.was is None else hashlib.sha256(self.was).hexdigest()
        return {"action": "replace", "path": self.path, "expected": expected, "or_stop": True, **given}


@dataclasses.dataclass(frozen=True)
class Look:
    """A question to the service, and what the decision rests on: the digest of the body that came, and when."""

    action: WindowsAction
    body_sha256: str
    uptime: float


class WindowsMachine:
    """`compares_bytes`: before something is written, the service is asked again, and the bytes must be the same.

    They may never be, with the keys in another order each time. Then what it has shown is good for some seconds.
    """

    can_act = False
    expanded = staticmethod(windows_path)

    def __init__(self, actions: WindowsActions, request: Mapping[str, t.Any], compares_bytes: bool) -> None:
        self.actions = actions
        self.compares_bytes = compares_bytes
        self.request = json.dumps(request, default=str)
        self.latest = latest_uptime(request)
        self.contents: dict[str, Content] = {}
        self.files: dict[str, WindowsFile] = {}
        self.look: Look | None = None
        # Whether something left that can't be taken back.
        self.has_sent = False
        self.clock = _Clock(self)
        self.service: dict[str, t.Any] = {}

    # The disk.

    def kept_file(self, path: str, name: str, setting: str, error: type[Exception]) -> WindowsFile:
        path = windows_path(path)
        if name == "journal" and not path.endswith(LAST_JOURNAL):
            # Who is at work is always asked along with it.
            self.content(path + files.ENDING, compares=False)
        self.files[path] = WindowsFile(self, path, name, setting, error)
        return self.files[path]

    def at_work(self, journal_path: str) -> WindowsAtWork:
        return WindowsAtWork(self, windows_path(journal_path))

    def moment(self) -> Moment:
        return Moment(self.clock.boot_id(), self.clock.seconds(), time.time())

    def content(self, path: str, compares: bool = True) -> Content:
        # A copy beside the file need not be compared: nothing is decided by it.
        return self.contents.setdefault(path, Content(path, compares and not path.endswith(LAST_JOURNAL)))

    def known(self, content: Content) -> Content:
        if not content.is_known and not content.doubt:
            self.fetch()
        return content

    # One call.

    def fetch(self, *sends: WindowsAction) -> list[ActionResult]:
        """Ask the service, and look at the clock and all files that are not known yet. Returns what the sends gave."""
        unknown = [one for one in self.contents.values() if not one.is_known and not one.doubt]
        reads = [{"action": "read", "path": one.path, "largest": LARGEST_READ} for one in unknown]
        results = self.actions.done([{"action": "boot"}, *sends, *reads])
        self.clock.learn(results[0])
        for content, result in zip(unknown, results[1 + len(sends) :], strict=False):
            if result.get("problem"):
                content.doubt = result
            else:
                content.learn(_bytes(result.get("content")))
        return results[1 : 1 + len(sends)]

    def finish(self) -> None:
        """Have the host hold what was written here. The host half has come to its end, and says nothing any more."""
        try:
            self.write()
        except Changed:
            # What was sent is not sent again: a mark that could not be taken back stays, and others wait for it.
            if not self.has_sent:
                raise
        except Exception as error:
            # Each file has an error of its own for what the host refuses.
            if not isinstance(error, tuple(file.error for file in self.files.values())):
                raise
            raise ActionsFailed({"failed": True, "changed": False, "msg": str(error)}) from None

    def write(self, *then: WindowsAction) -> list[ActionResult]:
        """Write all that was changed, if the host is as it was seen, and do one thing more. Returns what that gave."""
        changed = [one for one in self.contents.values() if one.is_changed]
        if not changed and not then:
            return []
        actions, condition = [self.clock.bounds()], {}
        if self.look and self.compares_bytes and not self.has_sent:
            actions.append(self.look.action)
            condition = {"only_if": self.look.body_sha256}
        first = len(actions)
        # Who is at work is said by the owner of the journal alone.
        witnesses = [
            one for one in self.contents.values() if one.compares and one.was is not None and not one.is_changed
        ]
        written = sorted((witnesses if changed else []) + changed, key=lambda one: one.turn)
        actions += [{**one.action(), **condition} for one in written] + [{**one, **condition} for one in then]
        results = self.actions.done(actions)
        look = results[1] if condition and len(results) > 1 else {"problem": "not asked"}
        if not look.get("problem") and look.get("body_sha256") != condition["only_if"]:
            raise OtherBytes(str(results[-1].get("said")))
        self._check_what_was_written(results, first, written)
        self.clock.learn(results[0])
        for content in written:
            content.learn(content.now)
        return results[first + len(written) :]

    def _check_what_was_written(self, results: list[ActionResult], first: int, written: list[Content]) -> None:
        problem = results[-1].get("problem")
        place = len(results) - 1 - first
        if problem and (place < 0 or problem == "changed"):
            raise Changed(str(results[-1].get("said")))
        if problem and place < len(written):
            raise self._doubted(written[place].path, results[-1], "written")
        if any(result.get("replaced") is not True for result in results[first : first + len(written)]):
            raise ActionsFailed(unexpected("it does not say that a file was written"))

    def doubted(self, path: str) -> Exception:
        return self._doubted(path, self.contents[path].doubt or {}, "read")

    def _doubted(self, path: str, result: ActionResult, verb: str) -> Exception:
        file = self.files.get(path) or self.files.get(path[: -len(files.ENDING)])
        said = f"{result.get('said')}".rstrip(".")
        if file is None:
            return ActionsFailed(unexpected(f"{path}: {said}"))
        advice = {
            "not_trusted": "Anybody may have made it: look at it, move it away, and run again",
            "locked": "Another process has it: run again",
            "too_large": "Look at it, and move it away",
        }.get(
            str(result.get("problem")),
            f"Use an administrator's account, or set {file.setting} to a path that it may write, and run again",
        )
        return file.error(f"The {file.name} {path} could not be {verb}: {said}. {advice}")

    def texts(self) -> Iterator[str]:
        """Where an earlier name of this boot may be."""
        yield self.request
        for content in self.contents.values():
            yield (content.was or b"").decode("utf-8", "replace")


class _Clock:
    """What clock.py is on Linux: by what the host said, and the time that passed here since."""

    def __init__(self, machine: WindowsMachine) -> None:
        self.machine = machine
        self.heard: HeardClock | None = None

    def boot_id(self) -> str:
        count, uptime, at = self._known()
        return boot_name(count, uptime, time.time() - (time.monotonic() - at), self.machine.texts())

    def seconds(self) -> float:
        _count, uptime, at = self._known()
        return round(uptime + time.monotonic() - at, 1)

    def told(self) -> dict[str, t.Any]:
        return {"boot_id": self.boot_id(), "seconds": self.seconds()}

    def learn(self, result: ActionResult) -> None:
        if "uptime" not in result:
            raise ActionsFailed(unexpected("it does not tell its uptime"))
        self.heard = (result.get("count"), float(result["uptime"]), time.monotonic())

    def bounds(self) -> WindowsAction:
        """The same boot, and not later than what the run knows is good for."""
        count, uptime, _at = self._known()
        latest, look = self.machine.latest, self.machine.look
        if look and not self.machine.compares_bytes:
            good_for = look.uptime + SECONDS_OF_A_LOOK
            latest = good_for if latest is None else min(good_for, latest)
        bounds: WindowsAction = {"action": "boot", "same_count": count, "uptime_from": uptime - SECONDS_OF_ROUNDING}
        return bounds if latest is None else {**bounds, "uptime_to": latest}

    def _known(self) -> HeardClock:
        if self.heard is None:
            self.machine.fetch()
            return self._known()
        return self.heard


class WindowsFile:
    """What KeptFile is on Linux."""

    def __init__(self, machine: WindowsMachine, path: str, name: str, setting: str, error: type[Exception]) -> None:
        self.machine = machine
        self.path = path
        self.folder = ntpath.dirname(path)
        self.name = name
        self.setting = setting
        self.error = error
        self.content = machine.content(path)

    def read(self) -> bytes | None:
        if self.machine.known(self.content).doubt:
            raise self.machine.doubted(self.path)
        return self.content.now

    def write(self, data: t.Any, path: str | None = None) -> None:
        text = json.dumps(data, indent=1, sort_keys=True).encode("utf-8") + b"\n"
        self.machine.content(path or self.path).put(text)

    def remove(self) -> None:
        self.content.put(None)

    def beside(self, ending: str) -> str:
        return ntpath.splitext(self.path)[0] + ending

    def has_folder(self) -> bool:
        return True

    def make_folder(self) -> None:
        """The host makes it along with the file."""

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Nobody is kept out: what others have written since is noticed, and all is done anew."""
        return contextlib.nullcontext()


class WindowsAtWork(files.AtWork):
    def __init__(self, machine: WindowsMachine, journal_path: str) -> None:
        self.path = journal_path + files.ENDING
        self.clock = machine.clock
        self.machine = machine
        self.content = machine.content(self.path, compares=False)

    def forget(self) -> None:
        self.content.put(None)

    def renew(self, run_id: str) -> bool:
        """As a call takes seconds, only when it is worth one."""
        # The host's own code has no types.
        usual: t.Any = super()
        return bool(usual.left(run_id) > files.SECONDS_AHEAD / 2 or usual.renew(run_id))

    def _put(self, line: str) -> bool:
        self.content.put(line.encode("ascii"))
        return True

    def _content(self) -> bytes:
        return self.machine.known(self.content).now or b""


def latest_uptime(request: Mapping[str, t.Any]) -> float | None:
    """Until when, by the host's own clock, what the run knew is good for."""
    fence = request.get("fence") or (request.get("open") or {}).get("fence")
    fence = fence or ((request.get("approval") or {}).get("marking") or {}).get("fence") or {}
    if fence.get("seconds") is None or fence.get("at_most") is None:
        return None
    return float(fence["seconds"]) + float(fence["at_most"])


def _bytes(text: t.Any) -> bytes | None:
    try:
        return None if text is None else base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ActionsFailed(unexpected("what a file holds is cut off")) from None


# Host commands, carried out on the controller.

LARGEST_ANSWER = _http.LARGEST_BODY + 128 * 1024
# As in curl.py: who this VM is, is asked along with the events.
SECONDS_TO_ASK_ALONG = 5


class ActionTransport:
    """What imds.py calls a transport."""

    def __init__(self, machine: WindowsMachine, endpoint: str, with_instance: bool) -> None:
        self.machine = machine
        self.endpoint = endpoint
        self.address, self.port = _http.address_of(endpoint)
        self.ask_along = _imds.INSTANCE_TARGET if with_instance else None
        self.kept: dict[str, _http.Answer] = {}

    def send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: Mapping[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> _http.Answer:
        if target in self.kept:
            return self.kept.pop(target)
        send = self._send(method, target, body, headers, connect_seconds, seconds)
        if method == "POST":
            sent = self.machine.write(send)[0]
            self.machine.has_sent = True
            return _answer(sent)[0]
        along, self.ask_along = self.ask_along, None
        sends = [send]
        if along and along != target:
            sends.append(self._send(method, along, None, headers, connect_seconds, min(seconds, SECONDS_TO_ASK_ALONG)))
        found = self.machine.fetch(*sends)
        answer, content = _answer(found[0])
        if answer.status == 200 and self.machine.clock.heard:
            self.machine.look = Look(send, _body_digest(content), self.machine.clock.heard[1])
        if along and len(found) > 1 and not found[1].get("problem"):
            self.kept[along] = _answer(found[1])[0]
        return answer

    def _send(
        self,
        method: str,
        target: str,
        body: str | None,
        headers: Mapping[str, str],
        connect_seconds: float,
        seconds: float,
    ) -> WindowsAction:
        request = _http.request_bytes(self.endpoint, method, target, body, headers)
        return {
            "action": "send",
            "address": self.address,
            "port": self.port,
            "request": base64.b64encode(request).decode(),
            "connect_ms": int(connect_seconds * 1000),
            "total_ms": int(seconds * 1000),
            "largest": LARGEST_ANSWER,
        }


def _answer(result: ActionResult) -> tuple[_http.Answer, bytes]:
    """The answer of the service and its bytes, or the exception that says why there is none."""
    problem, said = result.get("problem"), str(result.get("said") or "")
    if problem == "not_resolved":
        raise _http.NotResolved(said)
    if problem == "not_accepted":
        raise _http.NotAccepted(said)
    if problem == "too_large":
        raise _http.TooLarge()
    if problem not in (None, "timed_out", "broken"):
        raise ActionsFailed(unexpected(f"{problem}: {said}"))
    try:
        content = base64.b64decode(result.get("answer") or "", validate=True)
    except (binascii.Error, ValueError):
        raise ActionsFailed(unexpected("the answer of its service is cut off")) from None
    if problem == "timed_out":
        raise _http.TimedOut()
    if problem == "broken":
        raise _http.Broken(said or "the connection ended")
    return _http.answer_in(content, time.time()), content


def _body_digest(content: bytes) -> str:
    """As the host makes it: of what follows the head."""
    return hashlib.sha256(content.partition(b"\r\n\r\n")[2]).hexdigest()


def ways_to_the_service(machine: WindowsMachine, request: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """What the host halves need to ask the service of that machine."""
    # Looking for a version may take as many requests as a VM has a second: then nothing is asked along.
    alone = request.get("approval") or request.get("api_version") == _imds.AUTO
    with_instance = bool(request.get("with_instance")) and not alone
    return {
        "transport": lambda endpoint: ActionTransport(machine, endpoint, with_instance),
        # Windows does not tell what DHCP said in option 245.
        "discovered_endpoints": list,
    }


# Others may have written in between.
MOST_LOOKS = 6
NOT_ON_WINDOWS = "This can't be done on a Windows host"
NOTHING_ELSE_IS_TRIED = (
    " On Windows no other address is looked for. Give it in endpoint: only VMs of the classic model, which Azure has"
    " retired, have another one"
)
NEVER_STILL = "Others have changed it again and again while this run was about to write: run again"


def run_by_powershell(
    action: ActionBase, code: types.ModuleType, request: dict[str, t.Any], task_vars: dict[str, t.Any]
) -> dict[str, t.Any]:
    """What the host half returns for a request, done on a Windows host."""
    if "here" not in inspect.signature(code.carried_out).parameters:
        return {"failed": True, "changed": False, "msg": f"{NOT_ON_WINDOWS}: it is for Linux hosts"}
    actions = WindowsActions(action, task_vars)
    compares_bytes = True
    try:
        for _number in range(MOST_LOOKS):
            machine = WindowsMachine(actions, request, compares_bytes)
            machine.service = ways_to_the_service(machine, request)
            try:
                answer: dict[str, t.Any] = code.carried_out(request, bool(action._task.check_mode), here=machine)
                machine.finish()
                return _with_advice(answer, request)
            except Changed as changed:
                compares_bytes = compares_bytes and not isinstance(changed, OtherBytes)
    except ActionsFailed as failure:
        return failure.result
    return {"failed": True, "changed": False, "msg": NEVER_STILL}


def _with_advice(answer: dict[str, t.Any], request: dict[str, t.Any]) -> dict[str, t.Any]:
    if answer.get("kind") not in (None, "busy", "timed_out") and request.get("endpoints") == ["auto"]:
        return {**answer, "msg": f"{answer['msg']}{NOTHING_ELSE_IS_TRIED}"}
    return answer
