# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that has a goal, measured in one run, side by side with what it is measured against. See README.md.

python tests/benchmark/bench.py [--repeats 5] [--only readings,wave] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
COLLECTIONS = os.environ.setdefault("ANSIBLE_COLLECTIONS_PATH", str(HERE.parents[1] / ".build"))
sys.path.insert(0, COLLECTIONS)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])

import event_source  # noqa: E402
import inventory  # noqa: E402
import memory  # noqa: E402
import requests_of_a_host  # noqa: E402
import run_of_many  # noqa: E402
import watcher  # noqa: E402
import waves_of_many  # noqa: E402
from figures import Figure, table  # noqa: E402
from helpers.sshd_process import SSHD  # noqa: E402

ROWS: dict[str, Callable[[Path, int], list[Figure]]] = {
    "readings": requests_of_a_host.local_reading,
    "ssh": requests_of_a_host.reading_by_ssh,
    "processor": requests_of_a_host.processor_of_the_host,
    "approvals": requests_of_a_host.approving,
    "inventory": inventory.ten_thousand_hosts,
    "live": inventory.live_requests,
    "waves": waves_of_many.one_hundred_thousand,
    "wave": run_of_many.one_wave,
    "memory": memory.five_hundred_hosts,
    "run": run_of_many.one_wave_of_many,
    "nothing": run_of_many.nothing_to_do,
    "first": run_of_many.until_the_first_drain,
    "thousand": run_of_many.a_thousand_vms,
    "watcher": watcher.resident,
    "notices": watcher.notices,
    "growth": watcher.growth,
    "events": event_source.two_thousand_watchers,
    "reflex": watcher.until_the_first_step,
}


def machine() -> dict[str, Any]:
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "processor": _first_value("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": os.cpu_count(),
        "memory": _first_value("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}",
        "load before": [round(load, 2) for load in os.getloadavg()],
        "python": platform.python_version(),
        "ansible-core": _first_line("ansible", "--version"),
        "ssh": _first_line("ssh", "-V"),
        "curl": _first_line("curl", "--version"),
    }


def _first_value(path: str, name: str) -> str:
    lines = Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _first_line(*command: str) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.stdout.splitlines()[0].strip() if done.stdout else ""


def keep(path: Path, about: dict[str, Any], figures: list[Figure]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"machine": about, "figures": [figure.data() for figure in figures]}
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default=",".join(ROWS), help="some of: %(default)s")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where to keep all that was measured")
    options = parser.parse_args()
    for program, package in ((SSHD, "openssh-server"), (shutil.which("curl"), "curl")):
        if not program:
            sys.exit(f"This needs {package}: install it")
    about = machine()
    print("\n".join(f"{name}: {value}" for name, value in about.items()), flush=True)
    figures: list[Figure] = []
    started = time.monotonic()
    for name in options.only.split(","):
        began = time.monotonic()
        # Short, as sockets of ssh are made in it.
        with tempfile.TemporaryDirectory(prefix="b") as folder:
            new = ROWS[name](Path(folder), options.repeats)
        figures += new
        told = "; ".join(f"{figure.row()[3]} against {figure.against}, {figure.verdict}" for figure in new)
        print(f"measured: {name} in {time.monotonic() - began:.0f} s: {told}", flush=True)
        about["seconds"] = round(time.monotonic() - started)
        about["load after"] = [round(load, 2) for load in os.getloadavg()]
        if options.json:
            # After each, so that a run that is stopped has not been for nothing.
            keep(options.json, about, figures)
    print(f"\n{table(figures)}\n")
    for note in dict.fromkeys(f"{figure.what}: {figure.note}." for figure in figures if figure.note):
        print(note)
    print(f"{about['seconds']} s in all.")
    if options.json:
        print(f"Kept in {options.json}.")
    missed = [f"{figure.what} against {figure.against}" for figure in figures if figure.verdict == "MISSED"]
    sys.exit(f"Missed: {'; '.join(missed)}" if missed else 0)


if __name__ == "__main__":
    main()
