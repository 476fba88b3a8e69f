#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _approve_mark
short_description: "[INTERNAL] Write down that an approval begins"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Writes into the journal which events may start at any moment, as M(maintenance.azure.drain_journal)
    does, before anything is sent. Does nothing where the host is the only one that its events name, as the command that
    approves writes it then."
  - It is a part of the role P(maintenance.azure.approve#role), whose variables it takes itself, as each argument
    would be a template that is compiled anew for every host. There is no reason to use it in a playbook.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
"""

EXAMPLES = r"""
- name: Write down that the approval begins
  maintenance.azure._approve_mark:
  register: approve_mark
"""

RETURN = r"""
journal:
  description: What the journal then holds.
  type: dict
  returned: where it was written or read
"""
