# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the metadata service is: what an endpoint looks like, and the address in it.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

DEFAULT_ENDPOINT = "http://169.254.169.254"


def address_of(endpoint):
    """Host and port of an endpoint that was checked."""
    # By hand, as urllib.parse is as large as all else that a watcher keeps of ours.
    host, colon, port = endpoint.partition("://")[2].rstrip("/").rpartition(":")
    if not colon or port.endswith("]"):
        host, port = endpoint.partition("://")[2].rstrip("/"), "80"
    return host.strip("[]"), int(port or 80)


def check_endpoint(endpoint):
    """Return the endpoint without a trailing slash, or raise ValueError with a sentence for the user."""
    from urllib.parse import urlsplit

    complaint = "endpoint must look like %s (http://ADDRESS or http://ADDRESS:PORT), not %r" % (
        DEFAULT_ENDPOINT,
        endpoint,
    )
    if "://" not in endpoint:
        raise ValueError("%s: the http:// is missing" % complaint)
    parts = urlsplit(endpoint)
    if parts.scheme == "https":
        raise ValueError("%s: the metadata service speaks plain http only" % complaint)
    if parts.scheme != "http":
        raise ValueError("%s: %s is not a scheme that the metadata service speaks" % (complaint, parts.scheme))
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("%s: leave out the path, it is added for you" % complaint)
    if parts.username is not None or parts.password is not None:
        raise ValueError("%s: the metadata service takes no credentials" % complaint)
    try:
        port = parts.port
    except ValueError:
        raise ValueError("%s: the port is not a number from 1 to 65535" % complaint) from None
    if not parts.hostname or any(c.isspace() for c in endpoint) or port == 0:
        raise ValueError(complaint)
    return endpoint.rstrip("/")
