# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who asked what."""

import collections
import threading
import time


class RequestLog:
    """Every request to a VM, from the moment it came in."""

    def __init__(self, longest=200000):
        self._entries = collections.deque(maxlen=longest)
        self._seq = 0
        self._lock = threading.Lock()

    def begin(self, vm, request):
        with self._lock:
            self._seq += 1
            entry = {
                "seq": self._seq,
                "time": time.time(),
                "vm": vm.key,
                "method": request.method,
                "path": request.path,
                "query": request.raw_query,
                "headers": dict(request.headers.items()),
                "body": request.body.decode("utf-8", "replace"),
                "status": None,
                "impact": None,
                "fault": None,
                "approved": [],
                "violations": [],
                "answered": None,
            }
            self._entries.append(entry)
            return entry

    def entries(self):
        with self._lock:
            return [dict(entry) for entry in self._entries]

    def clear(self):
        with self._lock:
            self._entries.clear()
