# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults on demand: for whom, how often, how long."""

import json
import threading
import time

from .input_checks import (
    InputError,
    a_count,
    a_duration,
    a_positive_number,
    a_status,
    a_text,
    anything,
    at_least_one,
    checked,
    one_of,
    text_object,
    text_or_number,
)

STATUS_FAULTS = {
    "gone_410": 410,
    "too_many_429": 429,
    "error_500": 500,
    "error_503": 503,
    "timeout_408": 408,
    "status": None,
}
FAULT_KINDS = tuple(STATUS_FAULTS) + (
    "hang",
    "slow",
    "drop",
    "lost_answer",
    "refuse",
    "empty_200",
    "truncated_json",
    "html",
    "redirect",
    "wrong_shape",
    "huge_body",
    "raw",
)
FAULT_RULES = {
    "kind": one_of(*FAULT_KINDS),
    "vm": a_text,
    "path": one_of("scheduledevents", "instance", "versions"),
    "method": one_of("GET", "POST"),
    "count": at_least_one,
    "seconds": a_positive_number,
    "skip": a_count,
    "status": a_status,
    "retry_after": text_or_number,
    "delay": a_duration,
    "location": a_text,
    "bytes": at_least_one,
    "body": anything,
    "headers": text_object,
}


class Fault:
    """One fault on demand: for whom, how often or how long, and what happens."""

    def __init__(self, number, spec):
        self.number = number
        self.spec = spec
        self.kind = spec["kind"]
        self.to_skip = spec.get("skip", 0)
        self.left = spec.get("count")
        self.ends = time.monotonic() + spec["seconds"] if "seconds" in spec else None
        self.cleared = threading.Event()

    def has_time_left(self):
        return not self.cleared.is_set() and (self.ends is None or time.monotonic() < self.ends)

    def is_active(self):
        return self.has_time_left() and self.left != 0

    def is_for(self, vm, method=None, path=None):
        spec = self.spec
        return (
            spec.get("vm") in (None, vm.key)
            and spec.get("method") in (None, method)
            and spec.get("path") in (None, path)
        )

    def takes(self):
        """Counts one fitting request; whether the fault strikes it."""
        if self.to_skip:
            self.to_skip -= 1
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def wait_until_over(self):
        while self.has_time_left():
            self.cleared.wait(None if self.ends is None else max(0.0, self.ends - time.monotonic()))

    def view(self):
        left_seconds = None if self.ends is None else max(0.0, self.ends - time.monotonic())
        return dict(self.spec, id=self.number, active=self.is_active(), left=self.left, left_seconds=left_seconds)


class Faults:
    """The faults that were asked for, oldest first; the first that fits a request strikes it."""

    def __init__(self, vms):
        self._vms = vms
        self._faults = []
        self._numbers = 0
        self._lock = threading.Lock()

    def add(self, spec):
        spec = checked("the fault", dict(spec) if isinstance(spec, dict) else spec, FAULT_RULES, required=["kind"])
        if spec.get("vm") is not None and spec["vm"] not in self._vms:
            raise InputError("the fault: no VM of the fleet is called %s" % json.dumps(spec["vm"]))
        if spec["kind"] == "status" and "status" not in spec:
            raise InputError('the fault: kind "status" needs a "status"')
        if spec["kind"] == "refuse" and set(spec) & {"count", "skip", "path", "method"}:
            raise InputError(
                'the fault: kind "refuse" works for a time, not for single requests; use "vm" and "seconds"'
            )
        with self._lock:
            self._numbers += 1
            fault = Fault(self._numbers, spec)
            self._faults.append(fault)
            return fault.view()

    def clear(self, number=None):
        with self._lock:
            chosen = [fault for fault in self._faults if number in (None, fault.number)]
            if number is not None and not chosen:
                raise LookupError("there is no fault %d" % number)
            for fault in chosen:
                fault.cleared.set()
                self._faults.remove(fault)

    def views(self):
        with self._lock:
            return [fault.view() for fault in self._faults]

    def take(self, vm, method, path):
        with self._lock:
            for fault in self._faults:
                if fault.is_active() and fault.is_for(vm, method, path) and fault.takes():
                    return fault
        return None

    def refused(self):
        """The keys of the VMs whose connections are to be refused now."""
        with self._lock:
            active = [fault for fault in self._faults if fault.kind == "refuse" and fault.is_active()]
        return {vm.key for vm in self._vms.values() if any(fault.is_for(vm) for fault in active)}
