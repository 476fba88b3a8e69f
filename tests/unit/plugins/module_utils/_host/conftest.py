# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import clock as _clock


@pytest.fixture
def proc(tmp_path, monkeypatch):
    """A host whose /proc is in the hands of the test."""
    return Proc(tmp_path, monkeypatch)


class Proc:
    def __init__(self, folder, monkeypatch):
        self.boot_file, self.uptime_file = folder / "boot_id", folder / "uptime"
        monkeypatch.setattr(_clock, "BOOT_ID_FILE", str(self.boot_file))
        monkeypatch.setattr(_clock, "UPTIME_FILE", str(self.uptime_file))
        self.set("b1", 1000.0)

    def set(self, boot, seconds):
        self.boot, self.seconds = boot, seconds
        self.boot_file.write_text(f"{boot}\n")
        self.uptime_file.write_text(f"{seconds:.2f} 4711.00\n")

    def later(self, seconds):
        self.set(self.boot, self.seconds + seconds)

    def boots(self):
        self.set(f"{self.boot}'", 5.0)

    def is_not_there(self):
        self.boot_file.unlink()
        self.uptime_file.unlink()
