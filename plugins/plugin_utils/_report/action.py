# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action `_report`: write what is known about planned maintenance as a page and as data."""

from __future__ import annotations

import json
import os
import tempfile
import time
import typing as t
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from .._common import ansible
from .._common.options import report_options
from .._common.text import host_names, needed_vars
from .._host import readings
from .content import REPORT_TEXTS, REPORT_VARIABLES, make_report, record_of
from .page import render_page


class ReportAction(ActionBase):
    def report(self, task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
        _unused, options = self.validate_argument_spec(argument_spec=report_options())
        folder = Path(options["folder"]).expanduser().absolute()
        if Path(options["name"]).name != options["name"]:
            raise AnsibleActionFail(f"name is the name of a file, without folders, not {options['name']!r}")
        page, data = folder / f"{options['name']}.html", folder / f"{options['name']}.json"
        try:
            run = ansible.plain(options["run"]) or _read_run(options["run_file"])
            hosts = host_names(options["hosts"])
            known = ansible.plain(needed_vars(hosts, task_vars["hostvars"], REPORT_VARIABLES, REPORT_TEXTS))
            record = record_of(_records(hosts, task_vars["hostvars"])) if options["record"] else None
            whole = task_vars["hostvars"]
            report = make_report(
                hosts,
                known,
                run,
                time.time(),
                str(options["title"]),
                record,
                lambda: readings.names_of_inventory(whole),
            )
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        texts = {data: json.dumps(report, indent=1, ensure_ascii=False) + "\n", page: render_page(report, data.name)}
        if not self._task.check_mode:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                for path, text in texts.items():
                    _write(path, text)
            except OSError as error:
                raise AnsibleActionFail(
                    f"The report can't be written: {error}. Name a folder that may be written to, such as"
                    " maintenance_report_dir in the playbook report."
                ) from None
        return {
            # It holds the time when it was made: there is always something new in it.
            "changed": True,
            "html": str(page),
            "json": str(data),
            "counts": report["counts"],
            "lines": report["lines"],
        }


def _records(hosts: list[str], hostvars: t.Any) -> dict[str, str | None]:
    """Host -> what the playbook has read of its audit file, None where there is none."""
    said = {host: hostvars.raw_get(host).get("__report_record") or {} for host in hosts}
    return {
        host: str(ansible.plain(one.get("stdout", ""))) if one.get("rc") == 0 else None for host, one in said.items()
    }


def _read_run(path: str | None) -> t.Any:
    try:
        return json.loads(Path(path).expanduser().read_text(encoding="utf-8")) if path else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} can't be read as JSON: {error}") from None


def _write(path: Path, text: str) -> None:
    """In one step: somebody may be looking at the old one."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", errors="backslashreplace", dir=path.parent, delete=False
    ) as fresh:
        fresh.write(text)
    try:
        umask = os.umask(0)
        os.umask(umask)
        Path(fresh.name).chmod(0o666 & ~umask)
        Path(fresh.name).replace(path)
    except OSError:
        Path(fresh.name).unlink(missing_ok=True)
        raise
