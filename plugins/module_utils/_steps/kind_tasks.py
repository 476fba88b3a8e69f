# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind tasks: task files of the user's.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from .kind import Kind


class Tasks(Kind):
    name = "tasks"
    options = dict(drain=dict(type="str"), restore=dict(type="str"))
    some_of = known_by = ("drain", "restore")
    undone_by = ("restore",)
    by_tasks = True
