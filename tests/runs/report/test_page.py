# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in a real browser: it fits, it sorts, it filters, and it does nothing else."""

from __future__ import annotations

import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import make_report
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.page import render_page
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import iso_time
from helpers import browser

pytestmark = [
    pytest.mark.once,
    pytest.mark.rest,
    pytest.mark.skipif(browser.PROGRAM is None, reason="there is no Chromium on this machine"),
]
SHOWN = "[...document.querySelectorAll('tbody tr')].filter((row) => row.checkVisibility())"
NAMES = f"{SHOWN}.map((row) => row.cells[0].textContent)"
HOSTILE = "<b onclick=alert(1)>bold</b></script><script>document.title='taken'</script>"


def page(folder, count, words="Host server is undergoing maintenance."):
    """Hosts with a reboot ahead, with a freeze that has started, and with nothing, by domain. Every tenth is unread."""
    now = time.time()
    fleet = {}
    for number in range(count):
        domain = number % 3
        event = {
            "id": f"E{number}",
            "type": ("Reboot", "Freeze")[domain % 2],
            "status": ("Scheduled", "Started")[domain % 2],
            "source": "Platform",
            "resources": [f"web-{number}"],
            "not_before": iso_time(now + 600 + number) if domain == 0 else None,
            "duration_seconds": None,
            "description": words,
        }
        status = {
            "this_host": {"update_domain": str(domain)},
            "events": [event] if domain < 2 else [],
            "read_at": iso_time(now),
        }
        fleet[f"web-{number}"] = {"maintenance_status": None if number % 10 == 5 else status}
    path = folder / f"{count}.html"
    path.write_text(render_page(make_report(fleet, fleet, None, now), "report.json"), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def chromium():
    with browser.Browser() as opened:
        yield opened


@pytest.mark.parametrize("count", [3, 2000])
@pytest.mark.parametrize("width", [400, 1300])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_and_is_quiet(tmp_path, chromium, count, width, scheme):
    chromium.open(page(tmp_path, count), width=width, scheme=scheme)
    assert chromium.evaluate("document.documentElement.scrollWidth") <= width
    assert chromium.evaluate("document.getElementById('shown').textContent") == f"{count:,} of {count:,} rows"
    dark = chromium.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0] < 100")
    assert dark is (scheme == "dark")
    wide = "[...document.querySelectorAll('h1, h2, h3, p, .bar, .tile, .badge, .chip, td, th, input, select')]"
    outside = f"{wide}.filter((part) => part.getBoundingClientRect().right > innerWidth + 0.5).length"
    assert chromium.evaluate(outside) == 0
    assert chromium.complaints() == []


def test_it_sorts_by_click_and_by_key(tmp_path, chromium):
    chromium.open(page(tmp_path, 30))
    assert chromium.evaluate(NAMES)[:3] == ["web-0", "web-1", "web-2"]
    chromium.click("thead button")
    assert chromium.evaluate(NAMES)[:2] == ["web-29", "web-28"]
    assert chromium.evaluate("document.querySelector('th').ariaSort") == "descending"
    # Due is the fifth column: what has no deadline is last.
    chromium.click("thead button", 4)
    assert chromium.evaluate(NAMES)[0] == "web-1"
    chromium.evaluate("document.querySelectorAll('thead button')[2].focus()")
    chromium.press("Enter", 13)
    assert chromium.evaluate("document.querySelectorAll('th')[2].ariaSort") == "ascending"
    assert chromium.evaluate(f"{SHOWN}[0].cells[2].textContent") == "nothing planned"
    assert chromium.complaints() == []


def test_it_filters_by_word_state_and_domain(tmp_path, chromium):
    chromium.open(page(tmp_path, 30))
    chromium.click("#words")
    chromium.type("REBOOT web-1")
    assert chromium.evaluate(NAMES) == ["web-12", "web-18"]
    assert chromium.evaluate("document.getElementById('shown').textContent") == "2 of 30 rows"
    chromium.evaluate("document.getElementById('words').select()")
    chromium.press("Backspace", 8)
    chromium.click(".chip.unknown")
    assert chromium.evaluate(NAMES) == ["web-5", "web-15", "web-25"]
    chromium.evaluate("document.querySelector('.chip.started').focus()")
    chromium.press(" ", 32)
    assert len(chromium.evaluate(NAMES)) == 3 + 9
    chromium.evaluate(
        "(select => { select.value = 'update domain 1'; select.dispatchEvent(new Event('change')); })"
        "(document.getElementById('domain'))"
    )
    assert len(chromium.evaluate(NAMES)) == 9
    assert chromium.complaints() == []


def test_words_from_outside_do_nothing(tmp_path, chromium):
    chromium.open(page(tmp_path, 3, words=HOSTILE))
    assert chromium.evaluate("document.title") == "Azure maintenance"
    assert chromium.evaluate("document.querySelectorAll('script').length") == 1
    assert HOSTILE in chromium.evaluate("document.querySelector('tbody').textContent")
    assert chromium.complaints() == []


def test_a_page_that_is_looked_at_later_counts_from_then(tmp_path, chromium):
    path = page(tmp_path, 3)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(">in 10:00 min<", ">in 99:00 min<"), encoding="utf-8")
    chromium.open(path)
    chromium.wait_until("document.querySelector('.next [data-due]').textContent.startsWith('in 9:')")
