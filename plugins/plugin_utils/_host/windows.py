# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Windows host, as the controller sees it: files, clock and boot."""

from __future__ import annotations

import base64
import binascii
import contextlib
import dataclasses
import hashlib
import json
import ntpath
import os
import re
import tempfile
import time
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ansible.plugins.action import ActionBase

from ...module_utils._host.approval_command import SECONDS_TO_SEND
from ...module_utils._host.clock import Moment
from ...module_utils._host.files import ENDING, SECONDS_AHEAD, AtWork
from . import answers as _answers
from .answers import checked

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
        answer = checked(
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


# A call to a Windows host costs some 2 s. So what is written is decided on what was seen last, and goes to the host
# together with the question whether that still holds. If it does not, the host does nothing and is looked at again.


class LastSeen:
    """Lives in a folder of the run, as each task is a process of its own."""

    def __init__(self, run_folder: str | Path, host: str) -> None:
        name = hashlib.sha256(host.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self.file = Path(run_folder) / "azure-windows" / name
        self._kept = self._read()

    def _read(self) -> dict[str, t.Any]:
        try:
            kept = json.loads(self.file.read_text(encoding="ascii"))
            return kept if isinstance(kept, dict) else {}
        except (OSError, ValueError):
            return {}

    def clock(self) -> tuple[int | None, float, float] | None:
        """The count of boots, the uptime, and when that was heard by this machine's own uptime."""
        found = self._kept.get("clock")
        return (found[0], found[1], found[2]) if found else None

    def knows(self, place: str) -> bool:
        return place in self._kept.get("contents", {})

    def content(self, place: str) -> bytes | None:
        """What a file held, or a service answered; `place` is a path or an address."""
        found = self._kept["contents"][place]
        return None if found is None else base64.b64decode(found)

    def learn(self, clock: tuple[int | None, float, float], contents: t.Mapping[str, bytes | None]) -> None:
        texts = {name: None if one is None else base64.b64encode(one).decode() for name, one in contents.items()}
        self._kept = {"clock": clock, "contents": {**self._read().get("contents", {}), **texts}}
        self.file.parent.mkdir(mode=0o700, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=self.file.parent)
        with os.fdopen(handle, "w", encoding="ascii") as file:
            json.dump(self._kept, file)
        Path(name).replace(self.file)


# The host halves run on the controller. What they write is kept here until they end, or send an approval, and goes to
# the host as one list of actions: compare the boot, the document and the file with those that were judged, then write.

# The count of boots, the uptime, and when that was heard by this machine's own uptime.
HeardClock: t.TypeAlias = tuple[int | None, float, float]

# Read with a margin, as what comes back has to be checked as one text.
LARGEST_READ = 4 * 1024 * 1024
# So far may be off what is taken for the uptime of a host that was not asked.
SECONDS_OF_A_GUESS = 10
# So long after a look what it has shown may be acted on: as long as the host half on Linux tries to send.
SECONDS_OF_A_LOOK = SECONDS_TO_SEND
# The uptime is told in tenths.
SECONDS_OF_ROUNDING = 0.2
# The ending of the copy of a journal that was closed.
LAST_JOURNAL = ".last.json"


@dataclasses.dataclass(frozen=True)
class JustHeard:
    """What the service said when it was asked whether it still says the same, and the host's clock then."""

    clock: HeardClock
    place: str
    content: bytes


class Changed(Exception):
    """The host is not as it was seen: nothing was done there, and it has to be looked at anew.

    `look` is what the service said this time, where it was asked.
    """

    def __init__(self, said: str, look: ActionResult | None = None) -> None:
        super().__init__(said)
        self.look = look


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
    """A question to the service, and what the decision rests on: the digest of the body that came."""

    action: WindowsAction
    place: str
    body_sha256: str


class WindowsMachine:
    """`foresees`: what was seen last is taken for what is there. `heard`: the service has just said this.

    Before something is written the service is asked again, and must say the same in the same bytes. Where it has just
    been asked for that and its bytes were others, those are judged, and it is not asked once more: it may never say the
    same in the same bytes.
    """

    can_act = False
    expanded = staticmethod(windows_path)

    def __init__(
        self,
        actions: WindowsActions,
        seen: LastSeen,
        request: Mapping[str, t.Any],
        foresees: bool,
        heard: JustHeard | None = None,
    ) -> None:
        self.actions = actions
        self.seen = seen
        self.foresees = foresees
        self.heard = heard
        self.request = json.dumps(request, default=str)
        self.latest = latest_uptime(request)
        self.contents: dict[str, Content] = {}
        self.files: dict[str, WindowsFile] = {}
        self.look: Look | None = None
        # Whether the host has said that all this is so, and whether something left it that can't be taken back.
        self.is_certain = True
        self.has_sent = False
        self.clock = _Clock(self, heard.clock if heard else None)
        self.service: dict[str, t.Any] = {}

    # The disk.

    def kept_file(self, path: str, name: str, setting: str, error: type[Exception]) -> WindowsFile:
        path = windows_path(path)
        if name == "journal" and not path.endswith(LAST_JOURNAL):
            # Who is at work is always asked along with it.
            self.content(path + ENDING, compares=False)
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
            if self.foresees and self.seen.knows(content.path):
                content.learn(self.remembered(content.path))
            else:
                self.fetch()
        return content

    def remembered(self, place: str) -> bytes | None:
        """What was seen there last, which need not be so any more."""
        self.is_certain = False
        return self.seen.content(place)

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
        self._keep()
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
        looks_again = self.look is not None and self.heard is None and not self.has_sent
        if self.look and looks_again:
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
        look = results[1] if looks_again and len(results) > 1 else None
        if look:
            # What it has shown is good for a while, counted from here.
            self.clock.learn(results[0])
        self._check_what_was_written(results, first, written, look)
        self.clock.learn(results[0])
        for content in written:
            content.learn(content.now)
        self._keep()
        self.is_certain = True
        return results[first + len(written) :]

    def _check_what_was_written(
        self, results: list[ActionResult], first: int, written: list[Content], look: ActionResult | None
    ) -> None:
        problem = results[-1].get("problem")
        place = len(results) - 1 - first
        if problem and (place < 0 or problem == "changed"):
            raise Changed(str(results[-1].get("said")), look)
        if problem and place < len(written):
            raise self._doubted(written[place].path, results[-1], "written")
        if any(result.get("replaced") is not True for result in results[first : first + len(written)]):
            raise ActionsFailed(unexpected("it does not say that a file was written"))

    def doubted(self, path: str) -> Exception:
        return self._doubted(path, self.contents[path].doubt or {}, "read")

    def _doubted(self, path: str, result: ActionResult, verb: str) -> Exception:
        file = self.files.get(path) or self.files.get(path[: -len(ENDING)])
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

    def _keep(self) -> None:
        """Remember it for the next task."""
        found: dict[str, bytes | None] = {one.path: one.was for one in self.contents.values() if one.is_known}
        if self.clock.heard:
            self.seen.learn(self.clock.heard, found)

    def texts(self) -> Iterator[str]:
        """Where an earlier name of this boot may be."""
        yield self.request
        for content in self.contents.values():
            yield (content.was or b"").decode("utf-8", "replace")


class _Clock:
    """What clock.py is on Linux: by what the host said, and the time that passed here since."""

    def __init__(self, machine: WindowsMachine, heard: HeardClock | None) -> None:
        self.machine = machine
        self.heard = heard

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
        latest = self.machine.latest
        good_for = None
        if self.machine.heard:
            good_for = uptime + SECONDS_OF_A_LOOK
        elif self.machine.foresees:
            good_for = self.seconds() + SECONDS_OF_A_GUESS
        if good_for is not None:
            latest = good_for if latest is None else min(good_for, latest)
        bounds: WindowsAction = {"action": "boot", "same_count": count, "uptime_from": uptime - SECONDS_OF_ROUNDING}
        return bounds if latest is None else {**bounds, "uptime_to": latest}

    def _known(self) -> HeardClock:
        heard = self.heard
        if heard is None and self.machine.foresees:
            heard = self.machine.seen.clock()
            self.machine.is_certain = self.machine.is_certain and heard is None
        if heard is None:
            self.machine.fetch()
            return self._known()
        self.heard = heard
        return heard


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


class WindowsAtWork(AtWork):
    def __init__(self, machine: WindowsMachine, journal_path: str) -> None:
        self.path = journal_path + ENDING
        self.clock = machine.clock
        self.machine = machine
        self.content = machine.content(self.path, compares=False)

    def forget(self) -> None:
        self.content.put(None)

    def renew(self, run_id: str) -> bool:
        """As a call takes seconds, only when it is worth one."""
        # The host's own code has no types.
        usual: t.Any = super()
        return bool(usual.left(run_id) > SECONDS_AHEAD / 2 or usual.renew(run_id))

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
