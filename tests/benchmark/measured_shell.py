# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For sshd's ForceCommand: runs what the client asked for, and writes down the processor time that it used.

This program itself is not counted: it would not be there without the measuring.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

command = os.environ["SSH_ORIGINAL_COMMAND"]
code = subprocess.call(["/bin/sh", "-c", command])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
line = {"user": used.ru_utime, "system": used.ru_stime, "command": command[:60], "at": time.time()}
with Path(sys.argv[1]).open("a", encoding="utf-8") as log:
    log.write(json.dumps(line) + "\n")
sys.exit(code)
