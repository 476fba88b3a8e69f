# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard attributes of the modules."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying the target.
  diff_mode:
    description: Returns details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
  platform:
    description: Which managed hosts the task works on.
    support: full
    platforms: posix
  async:
    description: Supports being used with the C(async) keyword.
    support: none
"""

    ON_THE_CONTROLLER = r"""
options: {}
attributes:
  action:
    description: Runs on the controller.
    support: full
    details: Only what has to be asked or done on the host runs there.
"""

    ACTIONGROUP_IMDS = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/maintenance.azure.imds) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - maintenance.azure.imds
"""

    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details: Reads only, so check mode makes no difference.
  diff_mode:
    support: N/A
    details: Changes nothing.
"""
