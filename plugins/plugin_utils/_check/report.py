# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings of a check, without secrets."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ansible.errors import AnsibleError

from .._common.text import natural, printable

# A name that sounds like a secret. Headers and bodies of webhooks often hold one.
_SECRET_NAMES = re.compile(
    r"pass(word|wd|phrase)?$|_pass|passw|secret|token|credential|^vault_|_pw$|(api|access|private|shared|account|sas)_?key"
    r"|authorization|cookie|connection_string|^headers$|^body$",
    re.IGNORECASE,
)
# What a check looks at begins so.
_OURS = ("ansible_", "check_", "drain_", "maintenance_", "restore_", "watch_")
# All variables, of all hosts: what is taken from them is named beside them.
OF_EVERYBODY = ("groups", "hostvars", "vars")
_NAME = re.compile(r"[A-Za-z_]\w*")
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_SIGNATURE = re.compile(r"(?i)\b(sig|token|code|key|password|secret)=[^\s&\"']+")
HIDDEN = "(hidden)"
# Shorter than that, hiding a value would tear up other words.
SHORTEST = 4


class Scrubber:
    def __init__(self, texts: Iterable[str] = ()) -> None:
        # The longest first: one may hold another.
        written = {form for text in texts for form in _as_it_is_told(text)}
        self.texts = sorted((form for form in written if len(form) >= SHORTEST), key=len, reverse=True)

    def without_secrets(self, text: str) -> str:
        for secret in self.texts:
            text = text.replace(secret, HIDDEN)
        return _SIGNATURE.sub(rf"\1={HIDDEN}", _USER_INFO.sub(HIDDEN, text))


def _as_it_is_told(text: str) -> Iterator[str]:
    """As a whole and line by line, each as a person, Python or JSON writes it."""
    for part in {text, text.strip(), *(line.strip() for line in text.splitlines())}:
        yield part.strip()
        yield repr(part)[1:-1].strip()
        yield json.dumps(part)[1:-1].strip()


def secret_leaves(
    value: t.Any, is_secret: bool = False, is_always: Callable[[t.Any], bool] = lambda _leaf: False
) -> Iterator[t.Any]:
    """All that stands below names that sound like a secret, as it is written; and what `is_always` says is one."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from secret_leaves(inner, is_secret or bool(_SECRET_NAMES.search(str(name))), is_always)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from secret_leaves(inner, is_secret, is_always)
    elif (is_secret and not isinstance(value, bool) and value is not None) or is_always(value):
        yield value


def used_names(variables: Mapping[str, t.Any]) -> set[str]:
    """The variables that a check works out: those that it knows, and what their templates name, and so on."""
    found: set[str] = set()
    to_do = [name for name in variables if str(name).startswith(_OURS)]
    while to_do:
        name = to_do.pop()
        if name in found or name in OF_EVERYBODY or name not in variables:
            continue
        found.add(name)
        for text in _templates_in(variables[name]):
            to_do += _NAME.findall(text)
    return found


def _templates_in(value: t.Any) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _templates_in(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _templates_in(inner)
    elif is_template(value):
        yield str(value)


def is_template(value: t.Any) -> bool:
    return isinstance(value, str) and ("{{" in value or "{%" in value)


AREAS = ("way", "service", "state", "plan", "facts")
# From harmless to not.
VERDICTS = ("good", "doubtful", "bad")
# With more hosts than that only what is not good is said of each.
MOST_HOSTS_IN_FULL = 20
LONGEST_TEXT = 500
_READY = {"good": "The fleet is ready", "doubtful": "The fleet is ready, with doubts", "bad": "The fleet is not ready"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One point: what was seen, and what to do about it where it is not good."""

    area: str
    point: str
    verdict: str
    seen: str
    do: str = ""
    # For a fact of the service: what is documented.
    expected: str = ""

    def as_data(self) -> dict[str, str]:
        data = {"area": self.area, "point": self.point, "verdict": self.verdict, "seen": self.seen, "do": self.do}
        return {**data, "expected": self.expected} if self.expected else data

    @classmethod
    def from_data(cls, data: Mapping[str, t.Any]) -> Finding:
        return cls(**{field.name: str(data.get(field.name, "")) for field in dataclasses.fields(cls)})


def good(area: str, point: str, seen: str) -> Finding:
    return Finding(area, point, "good", seen)


def doubtful(area: str, point: str, seen: str, do: str) -> Finding:
    return Finding(area, point, "doubtful", seen, do)


def bad(area: str, point: str, seen: str, do: str) -> Finding:
    return Finding(area, point, "bad", seen, do)


def worst(findings: Iterable[Finding]) -> str:
    return max((finding.verdict for finding in findings), key=VERDICTS.index, default="good")


def make_check_report(
    by_host: Mapping[str, Sequence[Finding]],
    fleet: Sequence[Finding],
    not_looked_at: Sequence[Mapping[str, str]],
    scrubber: Scrubber,
) -> dict[str, t.Any]:
    """What `check_report` holds: fit for a bug report, so that no secret is in it."""
    everything = [*fleet, *(finding for findings in by_host.values() for finding in findings)]
    by_host = {host: _in_order(by_host[host]) for host in sorted(by_host, key=natural)}
    report = {
        "verdict": worst(everything),
        "counts": {verdict: sum(one.verdict == verdict for one in everything) for verdict in VERDICTS},
        "hosts": {host: [finding.as_data() for finding in findings] for host, findings in by_host.items()},
        "fleet": [finding.as_data() for finding in _in_order(fleet)],
        "not_looked_at": [dict(one) for one in not_looked_at],
    }
    return t.cast("dict[str, t.Any]", _clean(report, scrubber))


def _in_order(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: AREAS.index(finding.area))


def _clean(value: t.Any, scrubber: Scrubber) -> t.Any:
    if isinstance(value, dict):
        return {key: _clean(one, scrubber) for key, one in value.items()}
    if isinstance(value, list):
        return [_clean(one, scrubber) for one in value]
    if isinstance(value, str):
        return " ".join(printable(scrubber.without_secrets(value), " ").split())[:LONGEST_TEXT]
    return value


def lines_of(report: Mapping[str, t.Any]) -> list[str]:
    """One line a point, the fleet last, as the end of a run is what a person sees first."""
    hosts = report["hosts"]
    in_full = len(hosts) <= MOST_HOSTS_IN_FULL
    lines = []
    for host, findings in hosts.items():
        shown = [one for one in findings if in_full or one["verdict"] != "good"]
        lines += [_line(host, one) for one in shown]
    lines += [_line("the fleet", one) for one in report["fleet"]]
    lines += [f"not looked at: {one['fact']}: {one['why']}" for one in report["not_looked_at"]]
    if not in_full:
        lines.append(f"{len(hosts)} hosts: of each only what is not good is shown; check_report has all of it.")
    return [*lines, summary_of(report)]


def summary_of(report: Mapping[str, t.Any]) -> str:
    counts = ", ".join(f"{report['counts'][verdict]} {verdict}" for verdict in VERDICTS)
    return f"{_READY[report['verdict']]}: {counts}."


def _line(whose: str, finding: Mapping[str, str]) -> str:
    expected = f"expected {finding['expected']}, seen " if finding.get("expected") else ""
    seen = f"{expected}{finding['seen']}".rstrip(".")
    do = f". {finding['do'].rstrip('.')}." if finding["do"] else ""
    return f"{finding['verdict']:<8} {whose}, {finding['area']}: {finding['point']}: {seen}{do}"


_ENCRYPTED: tuple[type, ...]
try:
    from ansible.parsing.vault import EncryptedString

    _ENCRYPTED = (EncryptedString,)
except ImportError:
    # Before ansible-core 2.19.
    from ansible.parsing.yaml.objects import AnsibleVaultEncryptedUnicode

    _ENCRYPTED = (AnsibleVaultEncryptedUnicode,)


class Hidden:
    """Collects it, from one host after the other."""

    def __init__(self) -> None:
        self.texts: set[str] = set()
        # Hosts share what a group has, and to decrypt takes its time.
        self._decrypted: dict[str, str] = {}

    def scrubber(self) -> Scrubber:
        return Scrubber(self.texts)

    def add(self, variables: Mapping[str, t.Any], resolve: Callable[[t.Any], t.Any]) -> None:
        """`variables` as they are written; `resolve` works a template out, and may raise AnsibleError.

        Of templates only those are worked out that the check needs anyway: to work one out may ask a vault, or
        even make a password.
        """
        used: set[str] | None = None
        for name, value in variables.items():
            own = {} if name in OF_EVERYBODY else {name: value}
            for leaf in secret_leaves(own, is_always=_is_encrypted):
                if is_template(leaf):
                    used = used_names(variables) if used is None else used
                    leaf = _resolved(leaf, resolve) if name in used else None
                self._add(leaf)

    def _add(self, worked_out: t.Any) -> None:
        for leaf in secret_leaves(worked_out, is_secret=True):
            text = self._plain(leaf) if _is_encrypted(leaf) else str(leaf)
            if text:
                self.texts.add(text)

    def _plain(self, leaf: t.Any) -> str:
        secret = str(leaf._ciphertext)
        if secret not in self._decrypted:
            try:
                self._decrypted[secret] = str(leaf)
            except AnsibleError:
                # Who can't decrypt it can't tell it.
                self._decrypted[secret] = ""
        return self._decrypted[secret]


def _is_encrypted(leaf: t.Any) -> bool:
    return isinstance(leaf, _ENCRYPTED)


def _resolved(leaf: t.Any, resolve: Callable[[t.Any], t.Any]) -> t.Any:
    try:
        return resolve(leaf)
    except AnsibleError:
        return None


# A run goes to each host some ten times.
SLOW_CALL = 2.0
OLDEST_PYTHON = (3, 6)


@dataclasses.dataclass(frozen=True)
class Way:
    """What was seen on the way to a machine."""

    connection: str
    # The family of its shell: sh, powershell, cmd.
    shell: str
    # How long one small command takes.
    seconds: float
    # The version of Python that ran our code there; None where none did, and then why.
    python: str | None = None
    problem: str = ""
    # Whether it took a module, with files that are copied, as one command did not work.
    by_module: bool = False
    # Such as "sudo to root"; nothing where no become is set.
    become: str = ""
    user: str = ""


def about_way(way: Way) -> list[Finding]:
    runs = way.python is not None or way.shell == "powershell"
    return [_reached(way), *([_which(way)] if runs else []), _python(way), _become(way)]


def not_reached(why: str) -> Finding:
    do = "Try `ansible HOST -m ping`, and look at ansible_host, ansible_user, keys and the firewall"
    return bad("way", "reach", why, do)


def _reached(way: Way) -> Finding:
    seen = f"by {way.connection}, a call takes {way.seconds:.2f} s"
    if way.seconds > SLOW_CALL:
        do = "A run goes to each host some ten times: look at the network, ControlPersist and pipelining"
        return doubtful("way", "reach", seen, do)
    return good("way", "reach", seen)


def _which(way: Way) -> Finding:
    point = "how our code gets there"
    if way.shell == "powershell":
        return good("way", point, "PowerShell")
    if way.by_module:
        do = "Each task copies files: set pipelining, and ansible_python_interpreter to a Python that takes -c"
        return doubtful("way", point, "a module", do)
    return good("way", point, "one command")


def _python(way: Way) -> Finding:
    if way.shell == "powershell":
        return good("way", "Python", "not needed")
    if way.python is None:
        do = "Install python3 on the host: without it, it can be read and approved, and no more"
        return bad("way", "Python", f"none that runs: {way.problem}" if way.problem else "none that runs", do)
    version = tuple(int(number) for number in re.findall(r"\d+", way.python)[:2])
    if version < OLDEST_PYTHON:
        do = "Set ansible_python_interpreter to Python 3.6 or newer"
        return bad("way", "Python", way.python, do)
    return good("way", "Python", way.python)


def _become(way: Way) -> Finding:
    how = f"{way.become}, and then it is {way.user or 'not known who'}" if way.become else f"none, as {way.user or '?'}"
    return good("way", "become", how)


def about_journal_folder(problem: str, user: str) -> Finding:
    point = "the journal can be written"
    if problem:
        return bad("way", point, problem, "Use become, or set drain_journal to a path that this user may write")
    return good("way", point, f"by {user}")
