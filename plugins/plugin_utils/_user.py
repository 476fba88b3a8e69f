# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who runs this, and on which machine."""

from __future__ import annotations

import getpass
import os
import socket


def user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        # A container may run as a user without a name.
        return f"uid {os.getuid()}"


def controller_name() -> str:
    return socket.gethostname()
