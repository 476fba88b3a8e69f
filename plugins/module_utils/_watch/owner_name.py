# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name that a journal has for the watcher of a host, where a run has its id. Pure.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

_WATCHER_OF = "watcher of "


def owner_name(host):
    return _WATCHER_OF + host


def is_watcher(owner):
    return str(owner or "").startswith(_WATCHER_OF)
