# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Windows host of these tests, and what is beside it."""

from __future__ import annotations

import pytest
from helpers.host_services import haproxy, listener, nginx
from helpers.windows_host import WindowsHost, with_ansible_windows
from tools.wheel_part import Unavailable

__all__ = ["haproxy", "listener", "nginx"]


@pytest.fixture
def windows(tmp_path):
    """The double, or the PowerShell of this machine where there is one."""
    return WindowsHost(tmp_path / "windows")


@pytest.fixture(scope="module")
def settings():
    """Of a run that has ansible.windows, or what stands for its modules."""
    try:
        return with_ansible_windows()
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
