# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run make on a fresh Debian that has Python, make and git, and nothing else: as root, and as an ordinary user.

Called with the users, such as root,someone, and with what make is told. Each user has a machine of their own, with a
new clone. pip finds packages where it does here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from lab import debian
from lab.names import CLONE, PREFIX
from lab.shell import run
from tools import mirror, pip_conf

WORK = CLONE / ".build" / "fresh"
# Without ca-certificates pip trusts nobody.
PACKAGES = ["python3", "python3-venv", "make", "git", "ca-certificates"]
# What a test must do without, or ask for.
NOT_THERE = ["sudo", "sshd", "curl", "haproxy", "nginx", "chromium", "ansible"]


@contextlib.contextmanager
def machine() -> Iterator[Path]:
    """A fresh disk: the image below, what is changed above, and nothing of it left afterwards."""
    image = debian.make(WORK, PACKAGES)
    root = WORK / "root"
    take_apart(root)
    for name in ("upper", "work", "root"):
        (WORK / name).mkdir(parents=True)
    layers = f"lowerdir={image},upperdir={WORK / 'upper'},workdir={WORK / 'work'}"
    run("mount", "-t", "overlay", "fresh", "-o", layers, root)
    try:
        yield root
    finally:
        take_apart(root)


def take_apart(root: Path) -> None:
    if root.is_mount():
        run("umount", root)
    for name in ("upper", "work", "root"):
        shutil.rmtree(WORK / name, ignore_errors=True)


def furnish(root: Path, user: str) -> Path:
    """The user, pip's settings, and a clone of the tree as it is now. Gives its folder, as the machine sees it."""
    for program in NOT_THERE:
        if shutil.which(program, path=os.pathsep.join(str(root / place) for place in ("usr/bin", "usr/sbin"))):
            raise RuntimeError(f"The machine is not fresh: it has {program}.")
    if user != "root":
        run("chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", user)
    with (root / "etc" / "pip.conf").open("w", encoding="utf-8") as stream:
        pip_conf.settings().write(stream)
    home = Path("/root" if user == "root" else f"/home/{user}")
    clone = root / home.relative_to("/") / "clone"
    for name in mirror.git_files(CLONE):
        mirror.update(CLONE / name, clone / name)
    me = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    for words in (["init", "--quiet"], ["add", "--all"], [*me, "commit", "--quiet", "--message", "As it is now"]):
        run("git", "-C", clone, *words)
    run("chroot", root, "chown", "--recursive", f"{user}:", home / "clone")
    return home / "clone"


def local_packages() -> list[str]:
    """Files and folders of this machine that pip's settings name."""
    config = pip_conf.settings()
    words = [word for section in config.sections() for _key, value in config.items(section) for word in value.split()]
    places = [Path(word.removeprefix("file://")) for word in words if word.startswith(("/", "file:///"))]
    # The pages of an index are in a folder of this name, what they link to is often beside it.
    return sorted({str(place.parent if place.name == "simple" else place) for place in places if place.exists()})


def make_as(user: str, targets: list[str]) -> int:
    with machine() as root:
        clone = furnish(root, user)
        command = [
            "systemd-nspawn",
            "--quiet",
            "--register=no",
            "--keep-unit",
            "--as-pid2",
            "--console=pipe",
            f"--machine={PREFIX}-fresh",
            f"--directory={root}",
            f"--user={user}",
            f"--chdir={clone}",
            f"--setenv=JOBS={os.environ.get('JOBS', '2')}",
            *(f"--bind-ro={place}" for place in local_packages()),
            *("make", *targets),
        ]
        return subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode


def main() -> None:
    users, targets = sys.argv[1].split(","), sys.argv[2:]
    outcomes = {}
    for user in users:
        started = time.monotonic()
        print(f"== make {' '.join(targets)} on a fresh machine, as {user}", flush=True)
        code = make_as(user, targets)
        outcomes[user] = f"{'passed' if code == 0 else f'exit code {code}'} after {time.monotonic() - started:.0f} s"
        if code:
            break
    print("\n".join(f"make {' '.join(targets)} as {user}: {outcome}" for user, outcome in outcomes.items()))
    sys.exit(any("passed" not in outcome for outcome in outcomes.values()))


if __name__ == "__main__":
    main()
