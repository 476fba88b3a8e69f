# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run the tests on every supported ansible-core for which this machine has a Python, and print what came of it.

Called with the versions to run, or with none to run all. One that was asked for by name and can't run is a failure.
MATRIX in the environment says which tests, as pytest's option -m.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from pythons import find_pythons

# For each ansible-core its Pythons. The first one found is taken; the order makes every Python's turn come.
CORES = {
    "2.16": ("3.10", "3.11", "3.12"),
    "2.17": ("3.12", "3.11", "3.10"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.13", "3.12", "3.11"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.14", "3.13", "3.12"),
}
SUITES = ("tests/unit", "tests/runs")
REQUIREMENTS = ("tests/requirements-runtime.txt", "tests/requirements-test.txt")


class Row(NamedTuple):
    core: str
    python: str
    unit: str
    runs: str
    good: bool


def environment(core: str, version: str, python: str) -> Path:
    """The folder of a virtual environment with this ansible-core, made anew when a requirement changed."""
    venv = Path(".build", "matrix", f"{core}-py{version}").resolve()
    made = venv / "made"
    wanted = "".join(Path(name).read_text(encoding="utf-8") for name in ("requirements.txt", *REQUIREMENTS))
    if not made.exists() or made.read_text(encoding="utf-8") != wanted:
        subprocess.run([python, "-m", "venv", "--clear", str(venv)], check=True)
        install = [str(venv / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        files = [option for name in REQUIREMENTS for option in ("-r", name)]
        subprocess.run([*install, f"ansible-core=={core}.*", *files], check=True)
        made.write_text(wanted, encoding="utf-8")
    return venv


def run_suite(venv: Path, folder: str) -> tuple[str, bool]:
    """pytest's closing line, and whether all is well."""
    env = {**os.environ, "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    processes = os.environ["RUNS_PROCESSES" if folder == "tests/runs" else "UNIT_PROCESSES"]
    pytest = [str(venv / "bin" / "python"), "-m", "pytest", "-n", processes]
    last = ""
    with subprocess.Popen(
        [*pytest, "-m", os.environ.get("MATRIX", "not once"), "--dist", "worksteal", folder],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        for line in run.stdout or ():
            print(line, end="", flush=True)
            last = line.strip("=\n ") or last
    return re.sub(r" in [\d.]+s.*", "", last), run.returncode == 0


def run_core(core: str, required: bool) -> Row:
    pythons = find_pythons()
    version = next((version for version in CORES[core] if version in pythons), None)
    if version is None:
        return Row(core, "-", f"not run: none of Python {', '.join(CORES[core])} found", "", not required)
    print(f"\n##### ansible-core {core}, Python {version}", flush=True)
    try:
        venv = environment(core, version, pythons[version])
    except subprocess.CalledProcessError:
        return Row(core, version, "not run: its packages could not be installed, see above", "", False)
    (unit, unit_good), (runs, runs_good) = (run_suite(venv, folder) for folder in SUITES)
    return Row(core, version, unit, runs, unit_good and runs_good)


def show(rows: list[Row]) -> None:
    width = max(len(row.unit) for row in rows)
    print(f"\n{'core':<6}{'python':<8}{'unit':<{width}}  runs")
    for row in rows:
        print(f"{row.core:<6}{row.python:<8}{row.unit:<{width}}  {row.runs}")


def main() -> None:
    asked = sys.argv[1:]
    if unknown := [core for core in asked if core not in CORES]:
        sys.exit(f"No such ansible-core in the matrix: {', '.join(unknown)}. There are: {', '.join(CORES)}")
    rows = [run_core(core, required=bool(asked)) for core in asked or CORES]
    show(rows)
    bad = [row.core for row in rows if not row.good]
    sys.exit(f"make test-matrix: failed on ansible-core {', '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
