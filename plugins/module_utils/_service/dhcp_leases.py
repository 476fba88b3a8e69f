# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the metadata endpoint that Azure's DHCP server names in option 245.

Only VMs outside a virtual network need it. This file runs on the managed host: standard library
only, Python 3.6 or newer. It reads lease files that are there anyway and sends nothing.
"""

import calendar
import glob
import io
import os
import re
import time

# Which DHCP client keeps its leases where. Later files and later leases win.
LEASE_FILES = (
    "var/lib/dhcp/dhclient.*.leases",
    "var/lib/dhcp/dhclient.leases",
    "var/lib/dhclient/dhclient-*.leases",
    "var/lib/dhclient/dhclient-*.lease",
    "var/lib/NetworkManager/dhclient-*.lease",
    "var/lib/NetworkManager/internal-*.lease",
    "var/db/dhclient.leases.*",
    "run/systemd/netif/leases/*",
)
# The two samples that Microsoft published disagree about the port.
PORTS = (80, 8080)

_DHCLIENT_OPTION = re.compile(r"option\s+(?:unknown|option)-245\s+([0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2}){3})\s*;")
_DHCLIENT_LEASE = re.compile(r"lease\s*\{(.*?)\n\s*\}", re.DOTALL)
_DHCLIENT_EXPIRY = re.compile(r"expire\s+\d+\s+(\d{4})/(\d\d?)/(\d\d?)\s+(\d\d?):(\d\d?):(\d\d?)\s*;")
_NETWORKD_OPTION = re.compile(r"^OPTION_245=([0-9a-fA-F]{8})\s*$", re.MULTILINE)


def endpoint_of_lease(text, now):
    """The address that a lease file's text names in option 245, or None. Expired leases do not count."""
    found = None
    for lease in _DHCLIENT_LEASE.findall(text):
        option = _DHCLIENT_OPTION.search(lease)
        if option and not _is_expired(lease, now):
            found = ".".join(str(int(part, 16)) for part in option.group(1).split(":"))
    networkd = _NETWORKD_OPTION.search(text)
    if networkd:
        digits = networkd.group(1)
        found = ".".join(str(int(digits[i : i + 2], 16)) for i in range(0, 8, 2))
    return found


def _is_expired(lease, now):
    expiry = _DHCLIENT_EXPIRY.search(lease)  # "expire 0 never;" does not match
    try:
        return bool(expiry) and calendar.timegm(tuple(int(part) for part in expiry.groups())) < now
    except (ValueError, OverflowError):
        # A date that there is not: no lease to build on.
        return True


def discovered_endpoints(root="/", now=None):
    """Base URLs to try, in order, for every address that a lease on this machine names."""
    return endpoints_of(_lease_texts(root), time.time() if now is None else now)


def _lease_texts(root):
    for pattern in LEASE_FILES:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            try:
                with io.open(path, encoding="utf-8", errors="replace") as lease_file:
                    text = lease_file.read()
            except OSError:
                continue
            yield text


def endpoints_of(texts, now):
    addresses = []
    for text in texts:
        address = endpoint_of_lease(text, now)
        if address and address not in addresses:
            addresses.append(address)
    return [
        "http://%s" % address if port == 80 else "http://%s:%d" % (address, port)
        for address in addresses
        for port in PORTS
    ]
