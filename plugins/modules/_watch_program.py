#!/usr/bin/python
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# The work is done by the action plugin of the same name.

DOCUMENTATION = r"""
module: _watch_program
short_description: "[INTERNAL] Bring the watcher's program to a host"
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - "[INTERNAL] Copies all that the watcher runs as one file."
  - It is part of the role C(maintenance.azure.watch). There is no reason to use it in a playbook of your own.
extends_documentation_fragment:
  - maintenance.azure._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
options:
  dest:
    description: Where it goes.
    type: path
    required: true
"""

EXAMPLES = r"""
- name: Copy it, as the role does
  maintenance.azure._watch_program:
    dest: /usr/local/lib/azure-maintenance/program.json
"""

RETURN = r"""
dest:
  description: Where it is.
  type: str
  returned: success
"""
