# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo: a simulated fleet goes through its maintenance. Run by `make demo`; stops what it starts."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

DEMO = Path(__file__).resolve().parent
CLONE = DEMO.parent
# Everything that the demo writes. Another folder may be given, so that tests do not get into the user's way.
SCRATCH = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else CLONE / ".build" / "demo"
INVENTORY = SCRATCH / "inventory"
SIMULATOR = CLONE / "roles" / "simulator" / "files" / "metadata_simulator"
SECONDS_TO_STOP = 10


class Failed(Exception):
    """A stage of the demo did not work; the message says which."""


def say(title: str, *lines: str) -> None:
    print(f"\n== {title}", *(f"   {line}" for line in lines), "", sep="\n", flush=True)


def short(text: str | Path) -> str:
    """With paths as they are seen from the clone, where the user is."""
    return str(text).replace(f"{CLONE}{os.sep}", "")


@contextlib.contextmanager
def started(command: list[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A command in a process group of its own: ^C reaches this program alone, which then ends what it has started."""
    with subprocess.Popen(command, text=True, start_new_session=True, **options) as process:
        try:
            yield process
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                if process.poll() is not None:
                    break
                # Somebody who is in a hurry presses ^C again.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(SECONDS_TO_STOP)


@contextlib.contextmanager
def simulator() -> Iterator[dict[str, str]]:
    """Start the simulator and give the endpoint of every VM."""
    fleet = ["--fleet", str(DEMO / "fleet.json"), "--profile", "quick"]
    command = [sys.executable, str(SIMULATOR), *fleet, "--port", "0", "--stop-with-stdin"]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        endpoints = {}
        for line in process.stdout or ():
            word, _space, rest = line.strip().partition(" ")
            if word == "vm":
                name, _space, url = rest.rpartition(" ")
                endpoints[name] = url
            if word == "ready":
                break
        else:
            raise Failed("the simulator did not start, its message is above")
        yield endpoints


def prepare(endpoints: dict[str, str]) -> None:
    """The inventory, and a folder for each VM."""
    shutil.copytree(DEMO / "inventory", INVENTORY)
    hosts = {name: {"maintenance_endpoint": url} for name, url in endpoints.items()}
    inventory = {"all": {"hosts": hosts, "vars": {"demo_folder": str(SCRATCH)}}}
    (INVENTORY / "endpoints.json").write_text(json.dumps(inventory, indent=1))
    (SCRATCH / "tmp").mkdir()
    for name in endpoints:
        (SCRATCH / name).mkdir()
        (SCRATCH / name / "healthy").write_text("ok\n")


def run(*command: str) -> None:
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ANSIBLE_")},
        "ANSIBLE_COLLECTIONS_PATH": os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(CLONE / ".build")),
        "ANSIBLE_CALLBACK_PLUGINS": str(DEMO / "callback_plugins"),
        "ANSIBLE_STDOUT_CALLBACK": "story",
        "ANSIBLE_PIPELINING": "1",
        "ANSIBLE_FORKS": "9",
        "ANSIBLE_DEPRECATION_WARNINGS": "0",
        "ANSIBLE_LOCALHOST_WARNING": "0",
        # Ansible would take the home folder of the account, whatever HOME says.
        "ANSIBLE_REMOTE_TMP": str(SCRATCH / "tmp"),
        "PYTHONUNBUFFERED": "1",
        "TMPDIR": str(SCRATCH / "tmp"),
    }
    print(f"   $ {short(' '.join(command))}\n", flush=True)
    # What a command says after ^C is of no use to anybody: so its output goes through here.
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with started(list(command), env=settings, cwd=CLONE, **pipes) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
        code = process.wait()
    if code:
        raise Failed(f"{command[0]} ended with code {code}, see above")


def playbook(name: str, *arguments: str) -> None:
    run("ansible-playbook", "-i", str(INVENTORY), f"maintenance.azure.{name}", *arguments)


def demo() -> None:
    began = time.monotonic()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    with simulator() as endpoints:
        prepare(endpoints)
        say(
            f"{len(endpoints)} VMs of a small shop, in three update domains",
            "Each of them has a metadata service of its own to ask what Azure has planned, as in Azure.",
            "A simulator plays it, and its time is sped up: what takes Azure ten minutes takes five seconds.",
            "And it leaves out waits: in Azure a reboot takes 35 minutes, and the next domain follows 30 later.",
            "Here a reboot takes ten, and all domains are announced at once.",
        )
        say(
            "1. Who is in for maintenance?",
            "The inventory plugin asks all VMs and puts them into groups by what is coming.",
            "Any playbook can target them: hosts: maintenance_pending",
        )
        run("ansible-inventory", "-i", str(INVENTORY), "--graph")
        say("2. What would be done about it?", "The plan. In check mode it is printed and nothing is touched.")
        playbook("drain_then_approve", "--check")
        say(
            "3. Do it",
            "One update domain after the other: take the work off its VMs, tell Azure to go ahead, wait until the",
            "maintenance is over, put the work back. The other two domains do the work meanwhile.",
        )
        playbook("drain_then_approve")
        say("4. Look at it", "A page for people and the same as JSON: what is planned now, and what the run did.")
        playbook("report", "-e", "maintenance_report_read=false", "-e", f"maintenance_report_dir={SCRATCH}")
    sum_up(json.loads((SCRATCH / "run.json").read_text()), time.monotonic() - began)


def sum_up(done: dict[str, Any], seconds: float) -> None:
    def hosts(state: str) -> str:
        return ", ".join(sorted(name for name, outcome in done["hosts"].items() if outcome["state"] == state))

    approved = [event for event in done["events"].values() if event["approved_by"]]
    say(
        f"Done in {seconds:.0f} seconds. {'All is well.' if done['ok'] else 'Something went wrong, see above.'}",
        f"{len(done['hosts'])} VMs went through {len(done['events'])} events, one update domain after the other.",
        f"Drained first, returned to service afterwards: {hosts('restored')}",
        f"Frozen for five seconds, which needs no drain: {hosts('passed')}",
        f"Azure was told {len(approved)} times to go ahead, each time by one VM, when all that it names were ready.",
        f"The simulator is stopped, nothing is left running. All that was written is in {short(SCRATCH)}:",
        f"   the page        {short(SCRATCH / 'maintenance-report.html')}   (open it in a browser)",
        f"   what was done   {short(SCRATCH / 'run.json')}",
        f"   the inventory   {short(INVENTORY)}   (with the drain steps)",
        "Next: docs/first-run.md takes your own VMs through it.",
    )


def main() -> int:
    try:
        demo()
    except KeyboardInterrupt:
        print("\n\n== Stopped. Nothing is left running; `make demo` begins anew.", flush=True)
        return 130
    except Failed as error:
        print(f"\n\n== The demo did not work: {error}. Nothing is left running.", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    # `make` passes on a request to end as SIGTERM: it is the same for us.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
