# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Small programs for the shell of a host, done on the way to its metadata service, where no Python is needed. Pure."""

from __future__ import annotations

import json
import re
import shlex
import typing as t

from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import BOOT_ID_FILE, UPTIME_FILE
from ansible_collections.maintenance.azure.plugins.module_utils._host.files import (
    ENDING,
    NO_BOOT_ID,
    SECONDS_AHEAD,
    digest_of,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import (
    SECONDS_OF_A_MARK,
    TOLD_BY_REFLEXES,
)

NO_JOURNAL = "--maintenance.azure no journal--"
REFLEXES = "--maintenance.azure reflexes--"
NO_RUN_MARK = "--maintenance.azure no mark--"
CLOCK_MARK = "--maintenance.azure clock"
_TOLD_CLOCK = re.compile(rf"{CLOCK_MARK} ([0-9A-Za-z-]{{1,64}}) ([0-9]{{1,12}}(?:\.[0-9]{{1,9}})?)--")

# As host_clock.py does it.
_READ_CLOCK = f"""read -r b 2>/dev/null <{BOOT_ID_FILE} || b={NO_BOOT_ID}
read -r u r 2>/dev/null <{UPTIME_FILE} || u=$(date +%s)
"""
TELL_CLOCK = f"""{{ {_READ_CLOCK}}} 2>/dev/null
echo "{CLOCK_MARK} $b $u--"
"""


def told_clock(said: str) -> dict[str, t.Any] | None:
    """The host's clock as TELL_CLOCK wrote it, or None where it did not."""
    found = _TOLD_CLOCK.search(said)
    if not found:
        return None
    boot_id, seconds = found.groups()
    return {"boot_id": None if boot_id == NO_BOOT_ID else boot_id, "seconds": float(seconds)}


def is_plain(path: str) -> bool:
    """Whether the path is the same for a shell and for Python: it is absolute, and nothing in it is expanded."""
    return path.startswith("/") and "$" not in path


def probe(path: str) -> str:
    """A program for the shell that says so where it is certain that there is no journal, as nearly always.

    It is certain if nothing has that name and the nearest folder above it that is there can be searched.
    """
    if not is_plain(path):
        return ""
    return f"""p={shlex.quote(path)}
d=$p
while d=${{d%/*}}; [ -n "$d" ] && [ ! -e "$d" ]; do :; done
[ -e "$p" ] || [ -L "$p" ] || {{ [ -d "${{d:-/}}" ] && [ -x "${{d:-/}}" ] && echo '{NO_JOURNAL}'; }}
"""


def renewal(path: str, run_id: str) -> str:
    """Says that this run is still at work on the host, if it was the last to say so. As at_work.py does it."""
    if not is_plain(path):
        return ""
    run = digest_of(run_id)
    return f"""( w={shlex.quote(path + ENDING)}
umask 077
[ ! -L "$w" ] && read -r o r <"$w" && [ "$o" = {run} ] && {{
{_READ_CLOCK}rm -f "$w.new"; set -C
echo "{run} $b $((${{u%%.*}} + {SECONDS_AHEAD}))" >"$w.new" && mv -f "$w.new" "$w"
}} ) 2>/dev/null </dev/null
"""


def leave_mark(path: str, run_id: str) -> str:
    """Says on a host with a watcher that a run is there, which then comes first. As mark_file.py does it.

    The folder is the watcher's. So the file has a name that nobody can be the first to use: a shell that is not to
    overwrite a file still writes to a disk. And it is put in the place of the mark, never into a folder of that name.
    """
    if not is_plain(path):
        return ""
    head = shlex.quote('{"run_id": ' + json.dumps(run_id) + ', "until": ')
    return f"""( f={shlex.quote(path)}
umask 022
[ -d "${{f%/*}}" ] || exit 0
[ -e "${{f%/*}}/{TOLD_BY_REFLEXES}" ] && echo '{REFLEXES}'
u=$(date +%s) && r=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \\n') && [ ${{#r}} -eq 32 ] && n="$f.$r" && set -C &&
printf '%s%s}}\\n' {head} "$((u + {SECONDS_OF_A_MARK}))" >"$n" && {{ mv -fT "$n" "$f" || {{ rm -f "$n"; false; }}; }} ||
echo '{NO_RUN_MARK}'
) 2>/dev/null </dev/null
"""


def told_mark(said: str) -> dict[str, bool]:
    """What `leave_mark` wrote: whether the host has reflexes, and whether the mark could be left."""
    return {"reflexes": REFLEXES in said, "left": NO_RUN_MARK not in said}
