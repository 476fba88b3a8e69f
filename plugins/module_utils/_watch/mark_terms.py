# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts and controller agree on about the mark of a run. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

STATUS_FILE = "/run/azure-maintenance/status.json"
# As far ahead as the mark of a run counts, whatever it says.
SECONDS_OF_A_MARK = 90
# Reflexes that there are have told their watcher something by this name, beside its status.
TOLD_BY_REFLEXES = "reflexes.json"
