# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""awx.awx and kubernetes.core, which come with the PyPI package `ansible`, without the rest of that package."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools.wheel_part import Unavailable, wheel_part

from helpers.ansible_run import MIRROR

# With the awx.awx of AWX 24.6.1, the last release of AWX.
PACKAGE = "ansible==12.3.0"
PARTS = ("ansible_collections/awx/", "ansible_collections/kubernetes/")


def collections_path() -> str:
    """For ANSIBLE_COLLECTIONS_PATH: this collection and the others. Where there are none, the test is skipped."""
    try:
        folder = wheel_part(PACKAGE, PARTS, MIRROR / "other_collections")
    except Unavailable as unavailable:
        pytest.skip(str(unavailable))
    return os.pathsep.join([os.environ.get("ANSIBLE_COLLECTIONS_PATH", str(MIRROR)), str(Path(folder))])
