# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Unpacks the watcher's program beside itself, compiled, and puts it into the place of the one before.

python3 unpack.py program.json

Compiled, as the watcher may not write here, and would take more memory if it had to compile with each start. Standard
library only, Python 3.6 or newer.
"""

import compileall
import json
import os
import shutil
import sys


def unpack(archive):
    folder = os.path.dirname(os.path.abspath(archive))
    with open(archive, "rb") as packed:
        parts = json.loads(packed.read().decode("utf-8"))
    fresh, old, place = (os.path.join(folder, name) for name in ("lib.new", "lib.old", "lib"))
    for leftover in (fresh, old):
        shutil.rmtree(leftover, ignore_errors=True)
    for name, source in parts.items():
        path = os.path.join(fresh, *name.split("/")[1:])
        os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
        with open(path, "wb") as part:
            part.write(source.encode("utf-8"))
    # The paths in tracebacks are those of the place where it is going to be.
    if not compileall.compile_dir(fresh, ddir=place, quiet=1, maxlevels=20):
        return 1
    if os.path.isdir(place):
        os.rename(place, old)
    os.rename(fresh, place)
    shutil.rmtree(old, ignore_errors=True)
    return 0


if __name__ == "__main__":
    os.umask(0o022)
    sys.exit(unpack(sys.argv[1]))
