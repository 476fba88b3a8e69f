# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the modules that query the metadata service."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  endpoint:
    description:
      - Base URL of the metadata service, as C(http://ADDRESS) or C(http://ADDRESS:PORT).
      - V(auto) tries the usual address first, then the one that Azure's DHCP server names in option 245, as VMs
        outside a virtual network need it. Lease files on the host are read for that, so the task may need C(become).
    type: str
    default: http://169.254.169.254
  api_version:
    description:
      - The version of the Scheduled Events interface to ask for.
      - Older versions leave out fields and hide events of newer types.
      - V(auto) is for clouds that lack the newest ones. It asks for the newest version first and goes down, one more
        request for each that is refused with the status 400, and remembers what it has found until the end of the run.
        It warns of the event types that the version it has found never shows.
    type: str
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
    default: "2020-07-01"
  timeout:
    description:
      - Seconds for the requests to the service on one host, repeated ones included.
      - The default leaves room for the very first request, which switches the service on and may take two minutes.
      - Where nothing accepts a connection, the task gives up after some 15 seconds, however long this is.
    type: int
    default: 130
  vm_name:
    description:
      - This host's name in the events, when the instance metadata is not to be asked for it.
      - That is the name of the Azure resource, such as C(web_3) in a scale set. It is often not the hostname.
    type: str
"""

    # Options of the modules that wait for events.
    WAIT = r"""
options:
  event_ids:
    description: Which events to wait for, in any case of letters. One that is not listed is over.
    type: list
    elements: str
    required: true
  until:
    description:
      - V(started) waits until the events have started, V(finished) until they are over.
      - An event that is over between two readings counts as both.
    type: str
    choices: [started, finished]
    default: finished
  wait_timeout:
    description: Seconds for the whole wait.
    type: int
    default: 1800
"""
