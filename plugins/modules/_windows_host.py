#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Documentation only: what runs is _windows_host.ps1, and no Linux host is ever sent this module.

DOCUMENTATION = r"""
module: _windows_host
short_description: "[INTERNAL] Do small actions on a Windows host for the controller"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Does small actions on a Windows host, in the order given, and stops at the first that has a problem."
  - All modules of this collection use it on Windows hosts; the decisions are made on the controller. There is no
    reason to use it in a playbook.
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
      - The actions. Each has a C(action) and its arguments.
      - C(send) sends the bytes C(request) to C(address) and C(port) and returns the answer, C(read) returns the content
        of a file, C(replace) replaces content that has the digest C(expected) by C(content), C(boot) returns the count
        of boots and the uptime.
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
