# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The metadata service of a VM."""

import time

from .azure_facts import INSTANCE_VERSIONS, PREVIEW_VERSION
from .fault_answers import answer_with_fault
from .http_messages import TEXT_TYPE, Response, json_response
from .rate_limit import RateLimit
from .request_rules import (
    RefusedError,
    area_of,
    demand_metadata_header,
    demand_method,
    demand_version,
    not_found,
    path_words,
    query_of,
    start_requests,
)


class MetadataService:
    """What a VM hears at its metadata address."""

    def __init__(self, world, faults, log):
        self.world = world
        self.faults = faults
        self.log = log
        self.limit = RateLimit(world.settings["requests_per_second"])

    def answer(self, vm, request, client_is_there):
        """The response, or None where the connection is to be closed without one."""
        entry = self.log.begin(vm, request)
        entry["impact"] = self.world.impact_on(vm)
        if entry["impact"] and not self._is_back(vm, client_is_there):
            return None
        too_many = self.limit.is_exceeded_by(vm)
        fault = self.faults.take(vm, request.method, area_of(request.path))

        def process():
            if too_many:
                return json_response(429, {"error": "Too many requests"})
            return self._process(vm, request, entry)

        if fault is None:
            response = process()
        else:
            entry["fault"] = fault.kind
            response = answer_with_fault(fault, process, client_is_there)
        entry["status"] = response.status if response else None
        entry["answered"] = time.time() if response else None
        return response

    def _is_back(self, vm, client_is_there):
        """Waits for a VM that is frozen; whether it goes on, with somebody who still waits for the answer."""
        self.world.wait_while_frozen(vm)
        return self.world.impact_on(vm) is None and client_is_there()

    def _process(self, vm, request, entry):
        try:
            return self._route(vm, request, entry)
        except RefusedError as refusal:
            return refusal.response

    def _route(self, vm, request, entry):
        area = area_of(request.path)
        if area is None:
            raise not_found(request)
        if "X-Forwarded-For" in request.headers:
            raise RefusedError(400, "Bad request. Requests with the header X-Forwarded-For are not allowed")
        query = query_of(request)
        if area != "scheduledevents" or query.get("api-version") != PREVIEW_VERSION:
            demand_metadata_header(request)
        if area == "versions":
            demand_method(request, "GET")
            return json_response(200, {"apiVersions": list(INSTANCE_VERSIONS)})
        if area == "instance":
            demand_method(request, "GET")
            return self._instance(vm, request, query)
        demand_method(request, "GET", "POST")
        settings = self.world.settings
        version = demand_version(query, settings["api_versions"], settings["unknown_version_status"])
        if request.method == "GET":
            document = self.world.read(vm, version)
            return Response(200) if document is None else json_response(200, document)
        return self._approve(vm, request, entry)

    def _approve(self, vm, request, entry):
        entry["approved"], unknown, advised = self.world.approve(vm, start_requests(request.body))
        entry["violations"] = ["approves the advisory %s" % event_id for event_id in advised]
        return Response(self.world.settings["unknown_event_status"] if unknown else 200)

    def _instance(self, vm, request, query):
        version = demand_version(query, INSTANCE_VERSIONS)
        wanted = query.get("format", "json").lower()
        if wanted not in ("json", "text"):
            raise RefusedError(400, "Bad request. The format must be json or text")
        value = vm.instance_document(version)
        for word in path_words(request.path)[2:]:
            value = child_of(value, word, request)
        if wanted == "text":
            return Response(200, as_text(value).encode("utf-8"), TEXT_TYPE)
        if not isinstance(value, (dict, list)):
            raise RefusedError(400, "Bad request. format=text is required for a leaf element")
        return json_response(200, value)


def child_of(value, word, request):
    if isinstance(value, list) and word.isdigit() and int(word) < len(value):
        return value[int(word)]
    if isinstance(value, dict):
        for name in value:
            if name.lower() == word.lower():
                return value[name]
    raise not_found(request)


def as_text(value):
    """A leaf as it is, anything else as the list of what is below it."""
    if isinstance(value, dict):
        return "\n".join(name + ("/" if isinstance(below, (dict, list)) else "") for name, below in value.items())
    if isinstance(value, list):
        return "\n".join("%d/" % number for number in range(len(value)))
    return str(value)
