# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the playbook check for real, and gives back its report as a program would read it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import ansible_run

needs_ssh = pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh on this machine: install openssh-client")


class Checked:
    def __init__(self, run: ansible_run.Run, report: dict[str, Any]) -> None:
        self.run = run
        self.report = report

    def of(self, host: str, point: str) -> dict[str, str]:
        """The only finding of a host, or of "the fleet", whose point begins so."""
        findings = self.report["fleet"] if host == "the fleet" else self.report["hosts"][host]
        found = [finding for finding in findings if finding["point"].startswith(point)]
        assert len(found) == 1, f"{point!r} of {host}: {found or [one['point'] for one in findings]}"
        return found[0]

    def verdict(self, host: str, point: str) -> str:
        return self.of(host, point)["verdict"]

    def not_good(self) -> list[tuple[str, str, str]]:
        everything = {**self.report["hosts"], "the fleet": self.report["fleet"]}
        return [
            (host, finding["point"], finding["seen"])
            for host, findings in everything.items()
            for finding in findings
            if finding["verdict"] != "good"
        ]


def check(
    folder: Path, inventory: Path, *arguments: str, settings: dict[str, str] | None = None, **variables: Any
) -> Checked:
    """`variables` are extra variables, `settings` the environment."""
    report = folder / "check.json"
    report.unlink(missing_ok=True)
    extra = json.dumps({"check_report": str(report), **variables})
    command = ["ansible-playbook", "-i", str(inventory), "maintenance.azure.check", "-e", extra, *arguments]
    run = ansible_run.run(folder, command, timeout=240, **(settings or {}))
    assert report.exists(), run.output
    return Checked(run, json.loads(report.read_text(encoding="utf-8")))
