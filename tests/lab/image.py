# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file system that all machines share."""

from __future__ import annotations

from pathlib import Path

from lab import debian
from lab.names import WORK
from lab.shell import run

PACKAGES = [
    *["systemd", "systemd-sysv", "dbus", "iproute2", "procps", "python3", "openssh-server", "sudo"],
    *["nginx-light", "haproxy", "postgresql", "patroni", "python3-etcd", "etcd-server"],
]
# Started where a machine needs them, not because they are installed.
DISABLED = ["etcd", "haproxy", "nginx", "patroni", "postgresql"]
# Of no use in a container, or busy with things that disturb.
MASKED = [
    *["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer"],
    *["console-getty.service", "e2scrub_reap.service", "systemd-timesyncd.service"],
]
USER = "azureuser"
FILES = {
    f"etc/sudoers.d/{USER}": f"{USER} ALL=(ALL) NOPASSWD: ALL\n",
    "etc/ssh/sshd_config.d/lab.conf": "UseDNS no\nMaxStartups 100\n",
    # On disk, as the figures come from there, and all of it.
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\nRateLimitBurst=0\nSyncIntervalSec=1s\n",
}


def path() -> Path:
    return debian.path(WORK, PACKAGES)


def make() -> Path:
    return debian.make(WORK, PACKAGES)


def furnish(root: Path) -> None:
    """What all machines have on top of the packages."""
    run("chroot", root, "useradd", "--create-home", "--shell", "/bin/bash", USER)
    run("systemctl", f"--root={root}", "disable", *DISABLED)
    run("systemctl", f"--root={root}", "mask", *MASKED)
    (root / "etc/nginx/sites-enabled/default").unlink()
    for name, text in FILES.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
