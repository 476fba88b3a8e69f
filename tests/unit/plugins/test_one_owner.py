# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file knows how times are written, one what a terminal may show, one who belongs together."""

from __future__ import annotations

import pytest
from helpers import ROOT

PLUGINS = ROOT / "plugins"
CONTROLLER = ("action", "filter", "inventory", "plugin_utils")
EVERYWHERE = (*CONTROLLER, "modules", "module_utils")
TIMES = "module_utils/_document/times.py"
OWNERS = {
    "isprintable": (CONTROLLER, {"plugin_utils/_words.py"}),
    "_above": (CONTROLLER, {"plugin_utils/_joined.py"}),
    # The controller's door to it is plugin_utils/_times.py.
    "strptime": (EVERYWHERE, set()),
    "strftime": (EVERYWHERE, {TIMES}),
    "gmtime": (EVERYWHERE, {TIMES}),
    "fromisoformat": (EVERYWHERE, set()),
    # Two of what every reading brings to a host, which is not sent the owner: Retry-After is left to the standard
    # library, and dhclient has a form of its own.
    "parsedate": (EVERYWHERE, {TIMES, "module_utils/_service/patience.py"}),
    "timegm": (EVERYWHERE, {"module_utils/_service/dhcp_leases.py"}),
    # With fractions of a second, as ansible-rulebook writes it into each event.
    ".isoformat": (EVERYWHERE, {"plugin_utils/_eda/source.py"}),
}


@pytest.mark.parametrize("word", sorted(OWNERS))
def test_nobody_else_does_it(word):
    parts, owners = OWNERS[word]
    paths = [path for part in parts for path in sorted((PLUGINS / part).rglob("*.py"))]
    users = {str(path.relative_to(PLUGINS)) for path in paths if word in path.read_text(encoding="utf-8")}
    assert users == owners


def test_the_wave_algorithm_lends_no_words():
    waves = (PLUGINS / "plugin_utils" / "_plan" / "waves.py").read_text(encoding="utf-8")
    assert "def in_words" not in waves
    borrowed = [
        path
        for path in sorted((PLUGINS / "plugin_utils").rglob("*.py"))
        if "_plan.waves import" in path.read_text(encoding="utf-8")
    ]
    for path in borrowed:
        text = path.read_text(encoding="utf-8").split("_plan.waves import", 1)[1].split("\nfrom ", 1)[0]
        assert not {"in_words", "some_of", "natural"} & set(text.replace(",", " ").split()), path.name
