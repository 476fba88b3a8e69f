# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated fleet in update domains whose hosts write down when they are drained and restored.

What a run did is judged by these diaries, by the journals and by the simulator's log, never by the run's own words.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from helpers import ansible_run
from helpers.simulator_process import Simulator, control_command
from helpers.waiting import wait_until

RUN_TASKS = Path(__file__).resolve().parents[2] / "playbooks" / "run" / "tasks"
# Two before the approval, and one to see what came of it.
LOOKS_OF_WHO_WAITS = 8


class RunFleet:
    def __init__(
        self,
        folder: Path,
        hosts: int = 4,
        domains: int = 3,
        single_vms: bool = False,
        group_per_domain: bool = False,
        **settings: Any,
    ) -> None:
        self.folder = folder
        self.domain_of = {f"web-{number}": str(number % domains) for number in range(hosts)}
        # Runs start in this folder: no file of the user's is taken for one of the collection's.
        for ours in (*RUN_TASKS.glob("*.yml"), Path("drain.yml"), Path("approve.yml")):
            (folder / ours.name).write_text("- ansible.builtin.fail: {msg: This is a file of the user.}\n")
        self.diary = folder / "diary"
        self.diary.touch()
        vms = [{"name": name, "group": "web", "update_domain": domain} for name, domain in self.domain_of.items()]
        groups = {"web": {"kind": "availability_set"}}
        if single_vms:
            # All of them say the same update domain, which says nothing.
            vms = [{"name": name, "update_domain": "0"} for name in self.domain_of]
            groups = {}
        if group_per_domain:
            groups = {f"set-{domain}": groups["web"] for domain in self.domain_of.values()}
            vms = [{**vm, "group": f"set-{vm['update_domain']}"} for vm in vms]
        self.simulator = Simulator({"vms": vms, "groups": groups}, **settings)
        self.host_vars: dict[str, dict[str, Any]] = {name: {} for name in self.domain_of}
        if group_per_domain:
            for name, domain in self.domain_of.items():
                self.host_vars[name]["maintenance_delivery_group"] = f"set-{domain}"
        # More of the environment of every run.
        self.settings: dict[str, str] = {}

    def __enter__(self) -> RunFleet:
        return self

    def __exit__(self, *_about: object) -> None:
        self.simulator.stop()

    def event_per_domain(self, **event: Any) -> None:
        for domain in sorted(set(self.domain_of.values())):
            self.event_of_domain(domain, **event)

    def event_of_domain(self, domain: str, **event: Any) -> None:
        names = [name for name, own in self.domain_of.items() if own == domain]
        self.simulator.add_event(**{"id": f"E{domain}", "type": "Reboot", "resources": names, "dwell": 1, **event})

    def note(self, word: str, host: str) -> list[str]:
        """A command that writes into the diary."""
        return ["sh", "-c", f'echo "{word} {host} $(date +%s.%N)" >> {self.diary}']

    def noted_step(self, host: str) -> dict[str, Any]:
        """A step that does nothing but write into the diary."""
        return {"command": {"drain": self.note("drain", host), "restore": self.note("restore", host)}}

    def control_command(self, path: str, body: dict[str, Any] | None = None) -> list[str]:
        """A command that asks something of the simulator, so that a step decides when it happens."""
        return control_command(self.simulator, path, body)

    def journal(self, host: str) -> Path:
        return self.folder / f"{host}.json"

    def inventory(self) -> Path:
        return ansible_run.inventory(
            self.folder,
            {
                host: {
                    "maintenance_endpoint": self.simulator.endpoints.get(host, ""),
                    "drain_journal": str(self.journal(host)),
                    "maintenance_lock_path": str(self.folder / f"{host}.lock"),
                    "drain_steps": [self.noted_step(host)],
                    **variables,
                }
                # Also hosts that are no VM of the simulator, and have an endpoint of their own.
                for host, variables in self.host_vars.items()
            },
        )

    def command(self, *arguments: str) -> list[str]:
        return ["ansible-playbook", "-i", str(self.inventory()), "maintenance.azure.drain_then_approve", *arguments]

    def run(self, *arguments: str, timeout: float = 600, **environment: str) -> ansible_run.Run:
        settings = {"ANSIBLE_SHOW_CUSTOM_STATS": "1", "ANSIBLE_PIPELINING": "1", **self.settings, **environment}
        return ansible_run.run(self.folder, self.command(*arguments), timeout, **settings)

    def start(self, name: str, *arguments: str) -> StartedRun:
        """A run in the background, with a log of its own."""
        return StartedRun(self, name, arguments)

    def run_and_when(self, condition: Any, action: Any, *arguments: str) -> ansible_run.Run:
        """A whole run, in which something happens as soon as the condition holds."""
        with self.start("whole", *arguments) as run:
            run.wait_for(condition)
            action()
            return run.result()

    def run_and_kill_when(self, condition: Any, *arguments: str, timeout: float = 300) -> None:
        """Start a run and kill it, with all its workers, as soon as the condition holds."""
        with self.start("killed", *arguments) as run:
            run.wait_for(condition, timeout)

    def lease(self, lock_host: str) -> dict[str, Any]:
        path = self.folder / f"{lock_host}.lock"
        return json.loads(path.read_text()) if path.exists() else {}

    def is_noted(self, host: str) -> bool:
        """The lock hosts know that the host is about to be drained."""
        return any(
            note["host"] == host for lock_host in self.domain_of for note in self.lease(lock_host).get("notes", ())
        )

    def is_noted_and_nobody_writes(self, host: str) -> bool:
        """As is_noted, and no command on a lock host is under way that would stop together with the run."""
        return self.is_noted(host) and self._nobody_writes()

    def _nobody_writes(self) -> bool:
        # The folder of a lock file is locked while it is written; here all hosts have the same.
        folder = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(folder)
        return True

    # -- what happened, from the outside

    def notes(self) -> list[tuple[str, str, float]]:
        found = []
        for line in self.diary.read_text().splitlines():
            word, host, at = line.split()
            found.append((word, host, float(at)))
        return found

    def count(self, word: str, host: str) -> int:
        return sum(1 for noted, name, _at in self.notes() if (noted, name) == (word, host))

    def approvals(self) -> list[str]:
        return [event_id for line in self.simulator.log() for event_id in line["approved"]]

    def approved_at(self) -> dict[str, float]:
        return {event_id: line["time"] for line in self.simulator.log() for event_id in line["approved"]}

    def was_sent(self) -> bool:
        """Somebody has tried to approve something, whatever came of it."""
        return any(line["method"] == "POST" for line in self.simulator.log())

    def is_drained_and_waits(self, host: str, service: Simulator | None = None) -> bool:
        """The run has looked so often since the drain that it must have decided, and waits for Azure."""
        drained = [at for word, name, at in self.notes() if (word, name) == ("drain", host)]
        asked = [line for line in (service or self.simulator).log() if line["vm"] == host and line["method"] == "GET"]
        return bool(drained) and sum(line["time"] > drained[-1] for line in asked) >= LOOKS_OF_WHO_WAITS

    def drained_hosts(self) -> list[str]:
        return [host for host in self.domain_of if self.journal(host).exists()]

    def assert_nothing_approved_before_its_hosts_were_drained(self) -> None:
        """I1."""
        for event in self.simulator.events():
            at = self.approved_at().get(event["id"])
            for host in event["resources"] if at else []:
                drained = [when for word, name, when in self.notes() if (word, name) == ("drain", host) and when < at]
                restored = [
                    when for word, name, when in self.notes() if (word, name) == ("restore", host) and when < at
                ]
                assert drained, f"{event['id']} was approved before {host} was drained"
                assert not restored or max(drained) > max(restored), (
                    f"{event['id']} was approved after {host} was restored"
                )

    def assert_one_domain_at_a_time(self) -> None:
        """I2: no moment at which hosts of two domains were out of service by our hand."""
        out: dict[str, str] = {}
        for word, host, at in sorted(self.notes(), key=lambda note: note[2]):
            if word == "drain":
                out[host] = self.domain_of[host]
            else:
                out.pop(host, None)
            assert len(set(out.values())) <= 1, f"at {at} hosts of several domains are out: {out}"

    def assert_restored_only_after_the_end(self) -> None:
        """I3: nobody is restored while an event of his is under way."""
        over = {
            change["event"]: change["time"]
            for change in self.simulator.changes()
            if change["change"] in ("finished", "cancelled")
        }
        for event in self.simulator.events():
            if event["status"] not in ("Finished", "Cancelled") or event["id"] not in self.approved_at():
                continue
            for host in event["resources"]:
                restored = [at for word, name, at in self.notes() if (word, name) == ("restore", host)]
                assert restored, f"{host} was never restored"
                assert max(restored) > over[event["id"]]

    def assert_back_to_normal(self) -> None:
        assert self.drained_hosts() == []
        for host in self.domain_of:
            last = [word for word, name, _at in self.notes() if name == host][-1:]
            assert last in ([], ["restore"]), f"{host} was drained and never restored"

    def summary(self, run: ansible_run.Run, name: str = "maintenance_run") -> dict[str, Any]:
        """maintenance_run, or maintenance_plan, as later jobs get it."""
        text = run.output[run.output.index("RUN: {") + len("RUN: ") :]
        return json.JSONDecoder().raw_decode(text)[0][name]


class StartedRun:
    """A run in a session of its own: with all its workers it can be stopped, woken and killed."""

    def __init__(self, fleet: RunFleet, name: str, arguments: tuple[str, ...]) -> None:
        self.path = fleet.folder / f"{name}.log"
        self.results = fleet.folder / f"{name}.jsonl"
        self.started = time.monotonic()
        settings = {"ANSIBLE_PIPELINING": "1", "ANSIBLE_SHOW_CUSTOM_STATS": "1", "RESULTS_FILE": str(self.results)}
        environment = ansible_run.environment(fleet.folder, **settings, **fleet.settings)
        with self.path.open("wb") as log:
            self.process = subprocess.Popen(
                fleet.command(*arguments),
                cwd=fleet.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def __enter__(self) -> StartedRun:
        return self

    def __exit__(self, *_about: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def output(self) -> str:
        return self.path.read_text()

    def wait_for(self, condition: Any, timeout: float = 300) -> None:
        def now_or_never() -> bool:
            holds = condition()
            assert holds or self.process.poll() is None, f"ended too early: {self.output}"
            return bool(holds)

        wait_until(now_or_never, lambda: self.output, timeout)

    def stop(self) -> None:
        """A laptop that sleeps."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    def wake(self) -> None:
        os.killpg(self.process.pid, signal.SIGCONT)

    def kill_the_controller_alone(self) -> None:
        """Its workers live on, as after the out-of-memory killer."""
        self.process.kill()
        self.process.wait()

    def end(self, timeout: float = 600) -> int:
        return self.process.wait(timeout)

    def result(self, timeout: float = 600) -> ansible_run.Run:
        """What came of it, when it has ended."""
        code = self.end(timeout)
        return ansible_run.Run(
            code, self.output, ansible_run.read_results(self.results), time.monotonic() - self.started
        )
