# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine that is worked on, as the host halves see it: its disk, its clock, its way to the service.

Here it is this machine. A Windows host is worked on from the controller, by what has the same methods.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

from ansible_collections.maintenance.azure.plugins.module_utils._drain import host_clock as _host_clock
from ansible_collections.maintenance.azure.plugins.module_utils._drain.at_work import AtWork, expanded
from ansible_collections.maintenance.azure.plugins.module_utils._drain.kept_file import KeptFile


class ThisMachine:
    clock = _host_clock
    # What steps and checks of health do, this code can do by itself.
    can_act = True
    expanded = staticmethod(expanded)
    kept_file = KeptFile

    def __init__(self):
        # More arguments for what asks the service: how, where that is not as usual.
        self.service = {}

    def at_work(self, journal_path):
        return AtWork(journal_path, self.clock)


HERE = ThisMachine()
