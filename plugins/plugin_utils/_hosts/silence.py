# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notice a host that falls silent in the middle of a command.

A VM whose power fails, that freezes or is taken away does not say goodbye, and ssh waits for the end of a command for
ever. Here hosts go away all the time, so ssh is told to ask now and then whether somebody is there.
"""

from __future__ import annotations

import typing as t

# Unreachable after 20 s of silence. What the user has set himself comes first on the command line, and wins.
KEEP_ASKING = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"


def notice_silence(connection: t.Any) -> None:
    """Have it so for all that this task does; what is not ssh is left alone."""
    if getattr(connection, "transport", "") != "ssh":
        return
    own = connection.get_option("ssh_extra_args") or ""
    if KEEP_ASKING not in own:
        connection.set_option("ssh_extra_args", f"{own} {KEEP_ASKING}".strip())
