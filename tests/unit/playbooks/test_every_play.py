# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all plays of the collection have in common, whatever the user's configuration says."""

from __future__ import annotations

import pytest
import yaml
from helpers import ROOT

FILES = sorted(
    path for folder in ("playbooks", "extensions", "demo", "roles") for path in (ROOT / folder).rglob("*.y*ml")
)
# A rulebook has hosts as well.
PLAYS = [
    pytest.param(entry, id=f"{path.relative_to(ROOT)}: {entry.get('name')}")
    for path in FILES
    for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    for entry in (document if isinstance(document, list) else ())
    if isinstance(entry, dict) and "hosts" in entry and "rules" not in entry
]


@pytest.mark.parametrize("play", PLAYS)
def test_its_strategy_is_linear_whatever_the_configuration_says(play):
    """Tasks with `run_once` decide for all hosts of a batch, which is nothing to other strategies."""
    assert play.get("strategy") == "linear"


def test_they_are_found():
    assert len(PLAYS) > 15
