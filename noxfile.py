# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sessions that `make` runs: those of antsibull-nox, which antsibull-nox.toml names, and the matrix."""

from __future__ import annotations

import os
import sys

import antsibull_nox
import nox

sys.path.append("tests/tools")
from pythons import find_pythons

nox.options.download_python = "never"
nox.options.envdir = ".build/nox/sessions"
antsibull_nox.load_antsibull_nox_toml()

# For each ansible-core its Pythons. The first one found is taken; the order makes every Python's turn come.
CORES = {
    "2.16": ("3.10", "3.11", "3.12"),
    "2.17": ("3.12", "3.11", "3.10"),
    "2.18": ("3.11", "3.12", "3.13"),
    "2.19": ("3.13", "3.12", "3.11"),
    "2.20": ("3.12", "3.13", "3.14"),
    "2.21": ("3.14", "3.13", "3.12"),
}
FOUND = find_pythons()


# Not by antsibull-nox: its sessions for ansible-test need containers, and run no playbooks.
def add_matrix_session(core: str, pythons: tuple[str, ...]) -> None:
    found = [FOUND[python] for python in pythons if python in FOUND]

    @nox.session(name=f"matrix-{core}", python=(found or pythons)[0], tags=["matrix"], default=False, reuse_venv=True)
    def matrix(session: nox.Session) -> None:
        """Run the tests on one ansible-core. MATRIX in the environment says which, as pytest's option -m."""
        files = ("-r", "tests/requirements-runtime.txt", "-r", "tests/requirements-test.txt")
        session.install(f"ansible-core=={core}.*", *files)
        which = ("-m", os.environ.get("MATRIX", "not once"), *session.posargs)
        processes = ("-n", os.environ.get("PROCESSES", "2"), "--dist", "worksteal")
        session.run("python", "-m", "pytest", *processes, *which, "tests/unit", "tests/runs")


for supported, for_it in CORES.items():
    add_matrix_session(supported, for_it)
