# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts the simulator of the metadata service as a real process and talks to it. Standard library only.

with Simulator({"vms": [{"name": "web-0"}]}, speed=60) as simulator:
    event = simulator.add_event(type="Reboot", resources=["web-0"])
    print(simulator.document("web-0"), simulator.log())
"""

from __future__ import annotations

import abc
import http.client
import json
import subprocess
import sys
import tempfile
import urllib.parse
import uuid
from pathlib import Path
from typing import Any, NamedTuple

from helpers import ROOT
from helpers.waiting import PATIENCE, wait_until

PROGRAM = ROOT / "roles" / "simulator" / "files" / "metadata_simulator"
EVENTS_PATH = "/metadata/scheduledevents"
NEWEST = "2020-07-01"
METADATA = {"Metadata": "true"}


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body.decode("utf-8"))


def ask(
    url: str, method: str = "GET", body: Any = None, headers: dict[str, str] | None = None, timeout: float = PATIENCE
) -> Answer:
    """One HTTP request: no proxy, no redirect, no retry, whatever the environment says."""
    parts = urllib.parse.urlsplit(url)
    payload = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 80, timeout=timeout)
    try:
        target = parts.path + ("?" + parts.query if parts.query else "")
        connection.request(method, target, payload, headers or {})
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


class ControlError(Exception):
    """The control interface did not do what was asked; `status` and the sentence that it gave."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class SimulatorControl:
    """What whoever rehearses would do: the control interface of a simulator that runs somewhere."""

    def __init__(self, control: str) -> None:
        self.control = control

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """A request to the control interface."""
        answer = ask(self.control + path, method, body)
        if answer.status >= 300:
            raise ControlError(answer.status, answer.json["error"])
        return answer.json

    def add_event(self, **event: Any) -> Any:
        return self.call("POST", "/events", event)

    def cancel(self, event_id: str) -> Any:
        return self.call("POST", f"/events/{event_id}/cancel")

    def start(self, event_id: str) -> Any:
        return self.call("POST", f"/events/{event_id}/start")

    def finish(self, event_id: str) -> Any:
        return self.call("POST", f"/events/{event_id}/finish")

    def approve_elsewhere(self, event_id: str, **body: Any) -> Any:
        """Somebody approves through the portal, or with by="arm" through ARM."""
        return self.call("POST", f"/events/{event_id}/approve", body)

    def events(self) -> Any:
        return self.call("GET", "/events")

    def event(self, event_id: str) -> Any:
        return next(event for event in self.events() if event["id"] == event_id)

    def changes(self) -> Any:
        return self.call("GET", "/changes")

    def state(self) -> Any:
        return self.call("GET", "/state")

    def fault(self, **fault: Any) -> Any:
        return self.call("POST", "/faults", fault)

    def clear_faults(self) -> None:
        self.call("DELETE", "/faults")

    def log(self) -> Any:
        return self.call("GET", "/log")

    def clear_log(self) -> None:
        self.call("DELETE", "/log")

    def maintain(self, **maintenance: Any) -> Any:
        """Maintenance of a whole group; gives the names of the VMs of each domain."""
        planned = self.call("POST", "/maintenance", maintenance)["domains"]
        return [[name for event in events for name in event["resources"]] for events in planned]

    def violations(self) -> list[str]:
        """What clients did that none may do."""
        return [text for line in self.log() for text in line["violations"]]

    def advance(self, seconds: float) -> Any:
        """Lets so many simulated seconds pass at once."""
        return self.call("POST", "/clock", {"advance": seconds})

    def reset(self) -> None:
        """Back to the start of the simulated time: no faults, no log, the events of the fleet file."""
        self.call("POST", "/reset")

    def wait_for(self, event_id: str, status: str, timeout: float = PATIENCE) -> Any:
        """Waits until the event is Scheduled, Started, Finished or Cancelled."""
        wait_until(lambda: self.event(event_id)["status"] == status, lambda: str(self.event(event_id)), timeout)
        return self.event(event_id)


def control_command(simulator: SimulatorControl, path: str, body: dict[str, Any] | None = None) -> list[str]:
    """A command that asks something of the control interface, for a step or a task that says when it happens."""
    ask_it = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], data=sys.argv[2].encode())"
    return [sys.executable, "-c", ask_it, simulator.control + path, json.dumps(body or {})]


class SimulatorClient(SimulatorControl, abc.ABC):
    """And what a VM of its fleet would do."""

    @abc.abstractmethod
    def ask(self, vm: str, path: str, method: str = "GET", body: Any = None, **more: Any) -> Answer:
        """A request of this VM to its metadata service."""

    def read(self, vm: str, version: str = NEWEST, **more: Any) -> Answer:
        return self.ask(vm, f"{EVENTS_PATH}?api-version={version}", **more)

    def document(self, vm: str, version: str = NEWEST) -> Any:
        answer = self.read(vm, version)
        assert answer.status == 200, answer
        return answer.json

    def approve(self, vm: str, *event_ids: str, version: str = NEWEST, **more: Any) -> Answer:
        body = {"StartRequests": [{"EventId": event_id} for event_id in event_ids]}
        return self.ask(vm, f"{EVENTS_PATH}?api-version={version}", "POST", body, **more)


class Simulator(SimulatorClient):
    """A running simulator; ends with the `with` block, and also when the process that began it dies."""

    def __init__(
        self,
        fleet: dict[str, Any] | None = None,
        *,
        python: str = sys.executable,
        port: int = 0,
        profile: str = "quick",
        arguments: tuple[str, ...] | list[str] = (),
        **settings: Any,
    ) -> None:
        """`settings` are those of the fleet file: speed=60, requests_per_second=0, ..."""
        self.fleet = dict(fleet or {"vms": [{"name": "a"}]})
        self.fleet["settings"] = {**self.fleet.get("settings", {}), **settings}
        super().__init__("")
        self._endpoints: dict[str, str] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="simulator-")
        folder = Path(self._folder.name)
        (folder / "fleet.json").write_text(json.dumps(self.fleet), encoding="utf-8")
        self._errors = folder / "stderr"
        command = [python, str(PROGRAM), "--fleet", str(folder / "fleet.json"), "--port", str(port)]
        command += ["--profile", profile]
        with self._errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command, "--stop-with-stdin", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        try:
            self._wait_until_ready()
        except BaseException:
            self.stop()
            raise

    def _wait_until_ready(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            word, _space, rest = line.decode("utf-8").rstrip("\n").partition(" ")
            if word == "vm":
                key, _space, url = rest.rpartition(" ")
                self._endpoints[key] = url
            elif word == "control":
                self.control = rest
            elif word == "ready":
                return
        raise RuntimeError(f"the simulator ended with code {self.process.wait(PATIENCE)}: {self.errors()}")

    def __enter__(self) -> Simulator:
        return self

    def __exit__(self, *_about: object) -> None:
        self.stop()

    def stop(self) -> int:
        """Ends the process, by force if it must be; gives its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        self._folder.cleanup()
        return code

    def errors(self) -> str:
        """What the process has written to standard error."""
        return self._errors.read_text(encoding="utf-8")

    # -- what a VM of the fleet would do

    def endpoint(self, vm: str) -> str:
        """The base URL of this VM's metadata service."""
        return self._endpoints[vm]

    def azure_variables(self, vm: str) -> dict[str, str]:
        """What an inventory made from Azure, such as azure_rm's, says about where this VM is."""
        specs = {spec["name"]: spec for spec in self.fleet.get("vms", [])}
        spec = specs.get(vm.rpartition("/")[2], {})
        group = self.fleet.get("groups", {}).get(spec.get("group"), {})
        default = f"rg-{spec.get('group') or 'simulated'}"
        subscription = str(uuid.uuid5(uuid.NAMESPACE_URL, "maintenance.azure/simulator/subscription"))
        return {
            "resource_group": spec.get("resource_group", group.get("resource_group", default)),
            "subscription_id": spec.get("subscription_id", group.get("subscription_id", subscription)),
        }

    @property
    def endpoints(self) -> dict[str, str]:
        return dict(self._endpoints)

    def ask(self, vm: str, path: str, method: str = "GET", body: Any = None, **more: Any) -> Answer:
        """A request to the metadata service of a VM, with the Metadata header unless `headers` says otherwise."""
        return ask(self.endpoint(vm) + path, method, body, **{"headers": METADATA, **more})
