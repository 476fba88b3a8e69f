#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: what runs is _windows_host.ps1, and no Linux host is ever sent this module.

DOCUMENTATION = r"""
module: _windows_host
short_description: "[INTERNAL] What a Windows host does for the controller"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Small actions on a Windows host, in the order given. The first that has a problem is the last."
  - This is the way of all modules of this collection to a Windows host. What decides is done on the controller. There
    is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  platform:
    platforms: windows
options:
  actions:
    description:
      - What to do. Each has a C(action) and what that takes.
      - C(send) sends the bytes C(request) to C(address) and C(port) and tells the bytes that come back, C(read) tells
        what a file holds, C(replace) puts C(content) in the place of what has the digest C(expected), C(boot) tells
        the count of boots and the uptime.
      - With C(only_if) an action is done only if the answer to the C(send) before had a body with this digest.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: See for how long the host is up, as the other modules do
  maintenance.azure._windows_host:
    actions:
      - action: boot
"""

RETURN = r"""
results:
  description: The outcome of each action that was reached. One not done has a C(problem), and what was C(said).
  type: list
  elements: dict
  returned: success
now:
  description: The time of the host.
  type: str
  returned: success
"""
