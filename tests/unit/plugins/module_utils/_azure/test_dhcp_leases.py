# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""DHCP option 245 in the lease files of the usual clients."""

from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._service.dhcp_leases import (
    discovered_endpoints,
    endpoint_of_lease,
)

NOW = 1763253305  # 2025-11-16

DHCLIENT_LEASE = """lease {
  interface "eth0";
  fixed-address 10.0.1.4;
  server-name "RDE41D2D9BB18C";
  option subnet-mask 255.255.255.0;
  option dhcp-lease-time 4294967295;
  option routers 10.0.1.1;
  option dhcp-message-type 5;
  option unknown-245 %(octets)s;
  option domain-name "x.internal.cloudapp.net";
  renew 0 2152/07/23 23:27:10;
  rebind 0 2152/07/23 23:27:10;
  expire %(expire)s;
}
"""
NETWORKD_LEASE = """# This is private data. Do not parse.
ADDRESS=10.0.0.69
NETMASK=255.255.255.0
ROUTER=10.0.0.1
SERVER_ADDRESS=168.63.129.16
LIFETIME=4294967295
CLIENTID=ff0406a3a3000201
OPTION_245=a83f8110
"""
OPENBSD_LEASE = """lease {
  fixed-address 10.0.1.4;
  option option-245 a8:3f:81:10;
  expire 0 never;
}
"""


def dhclient(octets="a8:3f:81:10", expire="0 never"):
    return DHCLIENT_LEASE % {"octets": octets, "expire": expire}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        (dhclient(), "168.63.129.16"),
        (dhclient(expire="4 2152/06/16 16:58:54"), "168.63.129.16"),
        (dhclient(expire="2 2015/06/16 16:58:54"), None),
        (dhclient(expire="2 2152/13/16 16:58:54"), None),
        (dhclient(expire="2 0000/06/16 16:58:54"), None),
        (dhclient(octets="a:0:0:1"), "10.0.0.1"),
        (dhclient(octets="a8:3f:81"), None),
        (dhclient(octets="a8:3f:81:10:20"), None),
        (dhclient("a:0:0:1") + dhclient("a:0:0:2"), "10.0.0.2"),
        (dhclient("a:0:0:1") + dhclient("a:0:0:2", expire="2 2015/06/16 16:58:54"), "10.0.0.1"),
        (OPENBSD_LEASE, "168.63.129.16"),
        (NETWORKD_LEASE, "168.63.129.16"),
        (NETWORKD_LEASE.replace("a83f8110", "a83f81"), None),
        ('lease {\n  interface "eth0";\n}\n', None),
        ("", None),
    ],
)
def test_the_last_lease_that_is_not_expired_names_the_endpoint(text, address):
    assert endpoint_of_lease(text, NOW) == address


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("var/lib/dhcp/dhclient.eth0.leases", dhclient()),
        ("var/lib/dhclient/dhclient-eth0.leases", dhclient()),
        ("var/lib/dhclient/dhclient-eth0.lease", dhclient()),
        ("var/lib/NetworkManager/dhclient-5fb06bd0-eth0.lease", dhclient()),
        ("var/db/dhclient.leases.hvn0", OPENBSD_LEASE),
        ("run/systemd/netif/leases/2", NETWORKD_LEASE),
    ],
)
def test_every_client_s_lease_file_is_found(tmp_path, path, text):
    lease = tmp_path / path
    lease.parent.mkdir(parents=True)
    lease.write_text(text)
    assert discovered_endpoints(str(tmp_path), NOW) == ["http://168.63.129.16", "http://168.63.129.16:8080"]


def test_no_lease_no_endpoint(tmp_path):
    assert discovered_endpoints(str(tmp_path), NOW) == []


def test_two_clients_that_agree_are_one_address(tmp_path):
    for path, text in (
        ("var/lib/dhcp/dhclient.eth0.leases", dhclient()),
        ("run/systemd/netif/leases/2", NETWORKD_LEASE),
    ):
        lease = tmp_path / path
        lease.parent.mkdir(parents=True)
        lease.write_text(text)
    assert len(discovered_endpoints(str(tmp_path), NOW)) == 2


def test_a_lease_file_of_bytes_is_passed_over(tmp_path):
    lease = tmp_path / "run/systemd/netif/leases/2"
    lease.parent.mkdir(parents=True)
    lease.write_bytes(b"\xff\xfe\x00OPTION_245=\xff")
    assert discovered_endpoints(str(tmp_path), NOW) == []
