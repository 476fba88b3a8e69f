# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python3 DIR/metadata_simulator` begins here."""

import os
import sys

# Python looks for modules inside the folder that it runs, where ours would hide some of its own.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The folder is copied to machines as it is: it holds what is in the repository and nothing else.
sys.dont_write_bytecode = True

from metadata_simulator.program import main  # noqa: E402

sys.exit(main())
