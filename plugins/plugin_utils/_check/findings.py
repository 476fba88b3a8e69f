# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the playbook check found: points with a verdict, and what a person or a program is told of them. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterable, Mapping, Sequence

from ansible_collections.maintenance.azure.plugins.plugin_utils._check.secrets import Scrubber
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import natural, printable

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
