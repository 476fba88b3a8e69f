# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fleets, doubles and real daemons for the tests; tests/README.md says which helper is for what."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
