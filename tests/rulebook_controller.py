# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ansible-rulebook needs of AWX's API: templates by name, a launch, and what became of the job."""

from __future__ import annotations

import http.server
import json
import threading
import urllib.parse
from typing import Any

ANSWERED = {
    "ask_limit_on_launch": True,
    "ask_labels_on_launch": False,
    "ask_inventory_on_launch": False,
    "ask_variables_on_launch": False,
}


class RulebookController:
    def __init__(self, template: str, simultaneous: bool = True) -> None:
        self.template = template
        # Otherwise the second job of the template waits until the first has ended.
        self.simultaneous = simultaneous
        self.launched: list[dict[str, Any]] = []
        # Jobs run until this is set.
        self.may_end = threading.Event()
        controller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urllib.parse.urlsplit(self.path)
                asked = urllib.parse.parse_qs(url.query)
                if url.path.endswith("/unified_job_templates/"):
                    found = [controller.about] if asked.get("name") == [controller.template] else []
                    self.answer(200, {"count": len(found), "next": None, "results": found})
                elif url.path.endswith("/jobs/"):
                    jobs = [controller.job(int(number)) for number in asked["id__in"][0].split(",")]
                    self.answer(200, {"count": len(jobs), "next": None, "results": jobs})
                elif "/jobs/" in url.path:
                    self.answer(200, controller.job(int(url.path.strip("/").rpartition("/")[2])))
                else:
                    self.answer(200, {"version": "24.6.1"})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                controller.launched.append(body)
                number = len(controller.launched)
                self.answer(201, {"id": number, "url": f"/api/v2/jobs/{number}/", "status": "pending"})

            def answer(self, status: int, body: dict[str, Any]) -> None:
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_about: object) -> None:
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/"

    def job(self, number: int) -> dict[str, Any]:
        status = "successful" if self.may_end.is_set() else "running"
        if status == "running" and number > 1 and not self.simultaneous:
            status = "pending"
        return {"id": number, "status": status, "artifacts": {}, "created": "2026-11-16T00:00:00Z"}

    @property
    def about(self) -> dict[str, Any]:
        return {
            "id": 7,
            "type": "job_template",
            "name": self.template,
            "summary_fields": {"organization": {"name": "Default"}},
            "related": {"launch": "/api/v2/job_templates/7/launch/"},
            "allow_simultaneous": self.simultaneous,
            **ANSWERED,
        }

    def __enter__(self) -> RulebookController:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_about: object) -> None:
        self.may_end.set()
        self.server.shutdown()
        self.server.server_close()
