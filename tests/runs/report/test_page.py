# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page in a real browser: it fits, it sorts, it filters, and it does nothing else."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import iso_time
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.content import make_report
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.page import render_page

# A real Chromium, driven over its DevTools pipe: clicks and keys as a user makes them.

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# The sandbox does not work for root, nor in most containers; the pages are our own.
OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
# Chromium reads commands from descriptor 3 and answers on 4, and either may be anything else in this process.
LAUNCHER = """
import fcntl, os, sys
reading, writing = (fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3])
os.dup2(reading, 3)
os.dup2(writing, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
PATIENCE = 180


class Browser:
    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        assert PROGRAM
        self._process = subprocess.Popen(
            [sys.executable, "-c", LAUNCHER, str(to_browser), str(from_browser), PROGRAM, *OPTIONS]
            + [f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{part}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_about: object) -> None:
        with contextlib.suppress(Exception):
            self._session = None
            self._call("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        ends = time.monotonic() + PATIENCE
        while True:
            answer = self._next(ends)
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def _next(self, ends: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _out, _errors = select.select([self._in], [], [], max(0.0, ends - time.monotonic()))
            assert ready, "the browser does not answer"
            chunk = os.read(self._in, 1 << 20)
            assert chunk, "the browser has ended"
            self._buffer += chunk
        line, _zero, self._buffer = self._buffer.partition(b"\0")
        return json.loads(line)

    def open(self, page: Path, width: int = 1300, height: int = 900, scheme: str = "light") -> None:
        self.events.clear()
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self._call("Page.navigate", url=page.as_uri())
        self.wait_until("document.readyState === 'complete'")

    def evaluate(self, script: str) -> Any:
        answer = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_until(self, script: str) -> None:
        ends = time.monotonic() + PATIENCE
        while not self.evaluate(script):
            assert time.monotonic() < ends, f"never came to: {script}"
            time.sleep(0.05)

    def click(self, selector: str, index: int = 0) -> None:
        """With the mouse, in the middle of what the user sees of it."""
        find = f"document.querySelectorAll({json.dumps(selector)})[{index}]"
        self.evaluate(f"{find}.scrollIntoView({{block: 'center'}})")
        box = self.evaluate(
            f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({find}.getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self._call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, text: str) -> None:
        self._call("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        text = {"Enter": "\r", " ": " "}.get(key)
        more = {"text": text} if text else {}
        for kind in ("keyDown", "keyUp"):
            self._call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def complaints(self) -> list[Any]:
        """What the page wrote to the console, what went wrong in it, and what it wanted from elsewhere."""
        self.evaluate("0")
        return [
            event["params"]
            for event in self.events
            if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
            or (
                event["method"] == "Network.requestWillBeSent"
                and not event["params"]["request"]["url"].startswith(("file:", "data:", "about:"))
            )
        ]

    def picture(self, path: Path, full: bool = True) -> None:
        answer = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=full)
        path.write_bytes(base64.b64decode(answer["data"]))


pytestmark = [
    pytest.mark.once,
    pytest.mark.rest,
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium on this machine"),
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
    with Browser() as opened:
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
