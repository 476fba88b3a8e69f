# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One HTTP request, for webhooks, health checks and Patroni.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import base64
import json

from ansible_collections.maintenance.azure.plugins.module_utils._drain.host import StepError

LARGEST_ANSWER = 1024 * 1024


class WebError(StepError):
    """No answer, or one that says no. `status` is None where there was no answer."""

    def __init__(self, message, status=None):
        super(WebError, self).__init__(message)
        self.status = status


def request(
    url, method="GET", body=None, headers=None, timeout=10, validate_certs=True, login=None, accepted=None, proxy=True
):
    """Status and text of the answer; WebError for any that is not accepted (2xx, unless `accepted` lists others)."""
    # These cost a tenth of a second, and few steps need them.
    import http.client
    import ssl
    import urllib.error
    import urllib.request

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_unused):
            return None

    if not str(url).lower().startswith(("http://", "https://")):
        raise WebError("%s is not an http or https address" % url)
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        headers = dict({"Content-Type": "application/json"}, **(headers or {}))
    headers = {str(name): str(value) for name, value in (headers or {}).items()}
    if login:
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(login).encode("utf-8")).decode("ascii")
    context = ssl.create_default_context()
    if not validate_certs:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    handlers = [urllib.request.HTTPSHandler(context=context), NoRedirect()]
    if not proxy:
        handlers.append(urllib.request.ProxyHandler({}))
    data = None if body is None else str(body).encode("utf-8")
    try:
        # The scheme was checked above.
        question = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310
        with urllib.request.build_opener(*handlers).open(question, timeout=max(0.1, timeout)) as answer:
            status, text = answer.getcode(), answer.read(LARGEST_ANSWER)
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read(LARGEST_ANSWER)
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise WebError("%s does not answer: %s" % (url, getattr(error, "reason", None) or error)) from None
    text = text.decode("utf-8", "replace")
    if status not in accepted if accepted else not 200 <= status < 300:
        raise WebError("%s answers %d%s" % (url, status, ": " + text.strip()[:200] if text.strip() else ""), status)
    return status, text
