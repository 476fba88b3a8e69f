# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lists of steps that the role has left on this host, each by its digest.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json
import os
import re

from ansible_collections.maintenance.azure.plugins.module_utils._watch.reflex_steps import digest_of_steps


def kept_steps(folder, digest):
    """The list of steps with this digest, which the role has left on this host, or None."""
    if not folder or not re.match("^[0-9a-f]{64}$", str(digest)):
        return None
    try:
        with open(os.path.join(folder, "%s.json" % digest), "rb") as kept:
            steps = json.loads(kept.read().decode("utf-8"))
        # One that is damaged is none: what it had done is undone first.
        return steps if isinstance(steps, list) and digest_of_steps(steps) == digest else None
    except (OSError, ValueError, RecursionError):
        return None
