# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State on a managed host: import `journal`, `ownership`, `files`, `clock`, `audit` and `run_mark`; `exchange`,
`journal_command`, `approval_command` and `lease` are host commands.
"""
