# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the real Ansible commands, each as its own process, and gives back what every task said."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
MIRROR = TESTS.parent / ".build"


@dataclasses.dataclass
class Run:
    code: int
    output: str
    results: list[dict[str, Any]]
    seconds: float

    def ended(self, code: int = 0) -> Run:
        """Assert the exit code, and show the output where it is another one."""
        assert self.code == code, self.output
        return self

    def of(self, task: str, host: str | None = None) -> dict[str, Any]:
        """The last result of a task, on one host or on the only one that ran it."""
        found = [line for line in self.results if line["task"] == task and host in (None, line["host"])]
        assert found, f"no result of {task!r} on {host}:\n{self.output}"
        assert host is not None or len({line["host"] for line in found}) == 1, f"{task!r} ran on several hosts"
        return {"outcome": found[-1]["outcome"], **found[-1]["result"]}

    def everywhere(self, task: str) -> dict[str, dict[str, Any]]:
        return {line["host"]: self.of(task, line["host"]) for line in self.results if line["task"] == task}


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What a user has who installed the collection, and nothing of the machine's own settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "RESULTS_"))}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    no_settings = home / "ansible.cfg"
    no_settings.touch()
    return {
        **kept,
        "HOME": str(home),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)]),
        "ANSIBLE_COLLECTIONS_PATH": os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(MIRROR)),
        "ANSIBLE_CONFIG": str(no_settings),
        "ANSIBLE_HOME": str(home / ".ansible"),
        "ANSIBLE_NOCOLOR": "1",
        # Ansible leaves it to Python when its output gets into a file, and some tests read along.
        "PYTHONUNBUFFERED": "1",
        "ANSIBLE_DEPRECATION_WARNINGS": "1",
        "ANSIBLE_CALLBACK_PLUGINS": str(TESTS / "callback_plugins"),
        "ANSIBLE_CALLBACKS_ENABLED": "results_file",
        "RESULTS_FILE": str(folder / "results.jsonl"),
        **more,
    }


def run(folder: Path, command: list[str], timeout: float = 300, **more: str) -> Run:
    """Run one of Ansible's commands, such as ["ansible", "all", "-m", "ping"]."""
    settings = environment(folder, **more)
    results = Path(settings["RESULTS_FILE"])
    results.unlink(missing_ok=True)
    started = time.monotonic()
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            env=settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"not over after {timeout:.0f} s:\n{(late.stdout or b'').decode()}") from None
    # Whatever a test is about: nothing fails in a way that nobody foresaw. Before 2.19, ansible-core says so like this.
    assert "An exception occurred during task execution" not in process.stdout, process.stdout
    return Run(process.returncode, process.stdout, read_results(results), time.monotonic() - started)


def read_results(path: Path) -> list[dict[str, Any]]:
    """What the callback results_file has written."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def inventory(folder: Path, hosts: dict[str, dict[str, Any]], name: str = "hosts.json") -> Path:
    """An inventory file of hosts that all are this machine, unless their variables say otherwise."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    path = folder / name
    path.write_text(json.dumps({"all": {"hosts": {host: {**local, **own} for host, own in hosts.items()}}}))
    return path


def fleet_inventory(folder: Path, simulator: Any, **host_vars: Any) -> Path:
    """Every VM of a simulator as a host of its own name, with its own endpoint, and where Azure has it."""
    return inventory(
        folder,
        {
            vm: {"maintenance_endpoint": url, **simulator.azure_variables(vm), **host_vars}
            for vm, url in simulator.endpoints.items()
        },
    )


def play(
    folder: Path, inventory_file: Path, *tasks: dict[str, Any], arguments: tuple[str, ...] = (), **more: Any
) -> Run:
    """Run tasks on all hosts, each talking to its own endpoint.

    More keywords are the play's, those in upper case the environment's.
    """
    keywords = {name: value for name, value in more.items() if not name.isupper()}
    settings = {name: value for name, value in more.items() if name.isupper()}
    book = [
        {
            "name": "Test",
            "hosts": "all",
            "gather_facts": False,
            "module_defaults": {
                "group/maintenance.azure.imds": {"endpoint": "{{ maintenance_endpoint | default(omit) }}"}
            },
            **keywords,
            "tasks": list(tasks),
        }
    ]
    (folder / "play.json").write_text(json.dumps(book))
    return run(folder, ["ansible-playbook", "-i", str(inventory_file), "play.json", *arguments], **settings)


def play_each(folder: Path, inventory_file: Path, module: str, cases: list[dict[str, Any]], **more: Any) -> Run:
    """One run with a task for each set of options, named after them; a task that fails does not stop the others."""
    tasks = [{"name": str(options), module: options, "ignore_errors": True} for options in cases]
    return play(folder, inventory_file, *tasks, **more)


OF_THE_MOMENT = ("read_at", "times", "waited", "invocation")
OF_THE_MOMENT_IN_EVENTS = ("seconds_left", "not_before", "at")


def comparable_result(result: dict[str, Any]) -> dict[str, Any]:
    return {key: _without_moments(key, value) for key, value in result.items() if key not in OF_THE_MOMENT}


def _without_moments(key: str, value: Any) -> Any:
    if key == "events":
        return [_event(event) for event in value]
    if key == "effects":
        return {event: _event(effect) for event, effect in value.items()}
    if key == "msg":
        # How many tries there is time for depends on how long one takes.
        return re.sub(r" \(last of \d+ tries in \d+ s\)", "", value)
    return value


def _event(event: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in event.items() if name not in OF_THE_MOMENT_IN_EVENTS}
