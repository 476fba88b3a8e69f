# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are kept on a Windows host. Pure."""

from __future__ import annotations

import ntpath
import re

LINUX_FOLDER = "/var/lib/azure-maintenance"
WINDOWS_FOLDER = r"C:\ProgramData\azure-maintenance"


def windows_path(path: str) -> str:
    """The path on a Windows host: what is by default below /var/lib on Linux is below C:\\ProgramData there."""
    if not path.startswith(f"{LINUX_FOLDER}/"):
        return path
    return ntpath.join(WINDOWS_FOLDER, *path[len(LINUX_FOLDER) + 1 :].split("/"))


def is_of_windows(path: str) -> bool:
    """Whether only Windows takes that for an absolute path."""
    return bool(re.match(r"[A-Za-z]:[\\/]|\\\\", path))
