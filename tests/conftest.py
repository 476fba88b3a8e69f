# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hypothesis judges what it finds, never how fast this machine finds it. And what stands for Windows hosts is said."""

from __future__ import annotations

import waiting_first
from hypothesis import HealthCheck, settings
from windows_host import WHICH

settings.register_profile("at any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("at any speed")

pytest_collection_modifyitems = waiting_first.pytest_collection_modifyitems


def pytest_report_header() -> str:
    return f"Windows hosts are tried with {WHICH}"
