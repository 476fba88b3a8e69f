# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Chromium, driven over its DevTools pipe: clicks and keys as a user makes them. Standard library only.

with Browser() as browser:
    browser.open(page, width=400, scheme="dark")
    browser.click("thead button")
"""

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
