# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Says in one sentence why the lab can't run here, or says nothing and ends with 0. Standard library only."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# Program -> the Debian package that has it.
PROGRAMS = {
    "debootstrap": "debootstrap",
    "systemd-nspawn": "systemd-container",
    "ip": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "ssh": "openssh-client",
    "ssh-keygen": "openssh-client",
}
CGROUPS = [Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified")]


def missing() -> str:
    if sys.platform != "linux":
        return "The lab needs Linux."
    if os.geteuid() != 0:
        return "The lab needs root, as it boots machines with systemd-nspawn: try sudo make lab."
    packages = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    if packages:
        return f"The lab needs what is not installed: try apt-get install {' '.join(packages)}."
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True, check=False).returncode:
        return "The lab needs namespaces, and this root may not make them: it is in a container that forbids it."
    if not any(os.access(place / "cgroup.controllers", os.R_OK) and _writable(place) for place in CGROUPS):
        return "The lab needs cgroups of version 2, and can write to them neither at {} nor at {}.".format(*CGROUPS)
    if "overlay" not in Path("/proc/filesystems").read_text() and not shutil.which("modprobe"):
        return "The lab needs the file system overlay, which this kernel does not have."
    return ""


def _writable(folder: Path) -> bool:
    return not os.statvfs(folder).f_flag & os.ST_RDONLY


if __name__ == "__main__":
    sys.exit(missing() or 0)
