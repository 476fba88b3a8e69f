# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drain steps on a host: import `runner`, `machine` and `records`; `command_entry` is the host command, and only
`plugin_utils/_steps` imports the rest.
"""
