# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Build the collection, install the tarball as a user does, read every page of its documentation, import it as Galaxy.

Called with the collection's folder and a folder to work in, which is emptied first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

COLLECTION = "maintenance.azure"
# Kinds of content that ansible-doc knows and this collection may have.
KINDS = ("module", "inventory", "filter", "test", "lookup", "callback", "role")
# Everything that needs neither docker nor another server; sanity and ansible-lint have make targets of their own.
IMPORTER_SETTINGS = {
    "CHECK_REQUIRED_TAGS": "true",
    "RUN_ANSIBLE_DOC": "true",
    "RUN_ANSIBLE_LINT": "true",
    "OFFLINE_ANSIBLE_LINT": "true",
    "RUN_ANSIBLE_TEST": "false",
    "RUN_FLAKE8": "false",
}


def run(*command: str | Path, **options: Any) -> str:
    """What the command prints; where it fails, this program ends with all that it said."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}\n{' '.join(map(str, command))}: exit code {done.returncode}")
    return done.stdout


def build(collection: Path, work: Path) -> Path:
    run("ansible-galaxy", "collection", "build", collection, "--output-path", work)
    (tarball,) = work.glob("*.tar.gz")
    print(f"built {tarball.name}, {tarball.stat().st_size} bytes")
    return tarball


def install(tarball: Path, work: Path) -> dict[str, str]:
    """The environment of a user who has nothing but the installed tarball."""
    env = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(work / "installed")}
    run("ansible-galaxy", "collection", "install", tarball, "--offline", env=env)
    return env


def read_documentation(env: dict[str, str], work: Path) -> None:
    for kind in KINDS:
        listing = ("ansible-doc", "--json", "--type", kind)
        names = json.loads(run(*listing, "--list", COLLECTION, env=env, cwd=work))
        for name in names:
            page = json.loads(run(*listing, name, env=env, cwd=work)).get(name)
            if not page:
                sys.exit(f"ansible-doc shows nothing for the {kind} {name}")
        print(f"documented, type {kind}: {', '.join(names) or 'none'}")


def import_as_galaxy(tarball: Path, work: Path) -> None:
    settings = {f"GALAXY_IMPORTER_{name}": value for name, value in IMPORTER_SETTINGS.items()}
    # An empty file of settings: not the machine's own.
    no_settings = {"GALAXY_IMPORTER_CONFIG": os.devnull, "GALAXY_IMPORTER_TMP_ROOT_DIR": str(work)}
    env = {**os.environ, **settings, **no_settings}
    report = run(sys.executable, "-m", "galaxy_importer.main", tarball, env=env, cwd=work)
    print(report, end="")
    complaints = [line for line in report.splitlines() if line.startswith(("ERROR", "WARNING"))]
    if [line for line in complaints if not is_about_our_own(line, tarball)]:
        sys.exit("galaxy-importer complains, see above")


def is_about_our_own(line: str, tarball: Path) -> bool:
    """galaxy-importer has ansible-lint look for collections one folder too deep, where it finds no playbook of ours."""
    missing = re.fullmatch(rf"WARNING: ERROR +Failed to find {re.escape(COLLECTION)}\.(\w+) playbook\.", line)
    if missing is None:
        return False
    with tarfile.open(tarball) as archive:
        return f"playbooks/{missing[1]}.yml" in archive.getnames()


def main() -> None:
    collection, work = (Path(argument).resolve() for argument in sys.argv[1:])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    tarball = build(collection, work)
    read_documentation(install(tarball, work), work)
    import_as_galaxy(tarball, work)


if __name__ == "__main__":
    main()
