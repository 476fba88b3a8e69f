# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control interface: how whoever rehearses makes things happen."""

import json
import re
import time
import urllib.parse

from .http_messages import json_response
from .input_checks import InputError, a_duration, checked, one_of
from .world import StateError


class Control:
    """The HTTP interface of whoever rehearses: JSON in, JSON out."""

    def __init__(self, service, listeners_changed):
        world, faults, log = service.world, service.faults, service.log
        self.service = service
        self.world = world
        self.faults = faults
        self.log = log
        self._listeners_changed = listeners_changed
        self._routes = [
            ("GET", r"^/$", self._index),
            ("GET", r"^/state$", lambda given: world.state()),
            ("GET", r"^/events$", lambda given: world.event_views()),
            ("POST", r"^/events$", world.add_event),
            ("POST", r"^/maintenance$", world.add_maintenance),
            (
                "POST",
                r"^/events/([^/]+)/(cancel|start|finish)$",
                lambda given, event, action: world.change_event(event, action),
            ),
            ("POST", r"^/events/([^/]+)/approve$", self._approve_elsewhere),
            ("POST", r"^/events/([^/]+)/reschedule$", self._reschedule),
            ("GET", r"^/changes$", lambda given: world.change_views()),
            ("GET", r"^/faults$", lambda given: faults.views()),
            ("POST", r"^/faults$", self._add_fault),
            ("DELETE", r"^/faults$", self._clear_faults),
            ("DELETE", r"^/faults/(\d+)$", self._clear_faults),
            ("GET", r"^/log$", lambda given: log.entries()),
            ("DELETE", r"^/log$", self._clear_log),
            ("GET", r"^/clock$", lambda given: self._clock()),
            ("POST", r"^/clock$", self._advance),
            ("POST", r"^/reset$", self._reset),
        ]

    def answer(self, request):
        try:
            return self._dispatch(request)
        except InputError as problem:
            return json_response(400, {"error": str(problem)})
        except LookupError as problem:
            return json_response(404, {"error": str(problem.args[0])})
        except StateError as problem:
            return json_response(409, {"error": str(problem)})

    def _dispatch(self, request):
        path = urllib.parse.unquote(request.path)
        path_is_known = False
        for method, pattern, action in self._routes:
            match = re.match(pattern, path)
            path_is_known = path_is_known or bool(match)
            if match and method == request.method:
                given = self._given(request) if method == "POST" else None
                told = action(given, *match.groups())
                if method != "GET":
                    # Events and faults may have silenced VMs, or let them speak again.
                    self._listeners_changed()
                return json_response(200, told)
        if path_is_known:
            return json_response(405, {"error": "%s is not possible on %s" % (request.method, path)})
        return json_response(404, {"error": "there is no %s; see GET / for what there is" % path})

    @staticmethod
    def _given(request):
        if not request.body.strip():
            return {}
        try:
            return json.loads(request.body.decode("utf-8"))
        except ValueError as problem:
            raise InputError("the body is not JSON: %s" % problem) from None

    def _index(self, _dummy):
        return {"endpoints": ["%s %s" % (method, pattern.strip("^$")) for method, pattern, _dummy in self._routes]}

    def _approve_elsewhere(self, given, event_id):
        given = checked("the body", given, {"by": one_of("portal", "arm")})
        return self.world.change_event(event_id, "approve", given.get("by", "portal"))

    def _reschedule(self, given, event_id):
        given = checked("the body", given, {"notice": a_duration}, required=["notice"])
        return self.world.change_event(event_id, "reschedule", given["notice"])

    def _add_fault(self, given):
        return self.faults.add(given)

    def _clear_faults(self, _dummy, number=None):
        self.faults.clear(None if number is None else int(number))
        return {}

    def _clear_log(self, _dummy):
        self.log.clear()
        return {}

    def _reset(self, _dummy):
        self._clear_faults(None)
        self.world.reset()
        self.log.clear()
        self.service.limit.reset()
        return {}

    def _clock(self):
        clock = self.world.clock
        return {"simulated_seconds": clock.now(), "speed": clock.speed, "time": time.time()}

    def _advance(self, given):
        given = checked("the body", given, {"advance": a_duration}, required=["advance"])
        self.world.advance(given["advance"])
        return self._clock()
