# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the service wants to be asked, and what it says otherwise."""

import json
import urllib.parse

from .azure_facts import INSTANCE_VERSIONS
from .http_messages import json_response


class RefusedError(Exception):
    """A request that the service answers with an error of its own."""

    def __init__(self, status, message, **more):
        super().__init__(message)
        self.response = json_response(status, dict([("error", message)], **more))


def query_of(request):
    pairs = urllib.parse.parse_qsl(request.raw_query, keep_blank_values=True)
    names = [name.lower() for name, _dummy in pairs]
    if len(names) != len(set(names)):
        raise RefusedError(400, "Bad request. Duplicate query parameters are not allowed")
    return {name.lower(): value for name, value in pairs}


def demand_version(query, versions, status=400):
    """The version that is asked for; `status` is the answer to one that is not there."""
    version = query.get("api-version")
    if version not in versions:
        raise RefusedError(
            status if version else 400,
            "Bad request. api-version is invalid or was not specified in the request. "
            "For more information refer to aka.ms/azureimds",
            **{"newest-versions": list(reversed(INSTANCE_VERSIONS[-3:]))},
        )
    return version


def demand_metadata_header(request):
    if request.headers.get("Metadata", "").strip().lower() != "true":
        raise RefusedError(400, "Bad request. Required metadata header not specified")


def demand_method(request, *methods):
    if request.method not in methods:
        raise RefusedError(
            405, 'Http method is not allowed: Path = "%s", Method = "%s"' % (request.path, request.method)
        )


def not_found(request):
    return RefusedError(404, 'API is not found: Path = "%s", Method = "%s"' % (request.path, request.method))


def path_words(path):
    return [urllib.parse.unquote(word) for word in path.split("/") if word]


def area_of(path):
    """Which of the modelled parts of the service a path belongs to: versions, instance, scheduledevents, or None."""
    words = [word.lower() for word in path_words(path)]
    if words in (["metadata", "scheduledevents"], ["metadata", "versions"]) or words[:2] == ["metadata", "instance"]:
        return words[1]
    return None


def start_requests(body):
    """The event ids of an approval."""
    try:
        document = json.loads(body.decode("utf-8"))
        ids = [item["EventId"] for item in document["StartRequests"]]
    except (ValueError, TypeError, KeyError):
        raise RefusedError(400, "Bad request. The payload is malformed") from None
    if not ids or not all(isinstance(event_id, str) and event_id for event_id in ids):
        raise RefusedError(400, "Bad request. The payload is malformed")
    return ids
