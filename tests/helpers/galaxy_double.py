# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Galaxy server that has one collection: as much of its interface as `ansible-galaxy collection install` asks for."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import json
import threading
from pathlib import Path


def pages(tarball: Path, address: str) -> dict[str, bytes]:
    namespace, name, version = tarball.name.removesuffix(".tar.gz").split("-")
    collection = f"/api/v3/collections/{namespace}/{name}/"
    content = tarball.read_bytes()
    artifact = {"filename": tarball.name, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    one = {"version": version, "href": f"{collection}versions/{version}/"}
    times = {"created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
    documents = {
        "/api/": {"available_versions": {"v3": "v3/"}},
        collection: {"namespace": namespace, "name": name, "href": collection, **times},
        f"{collection}versions/": {"meta": {"count": 1}, "links": {"next": None}, "data": [one]},
        one["href"]: {
            **times,
            "href": one["href"],
            "version": version,
            "namespace": {"name": namespace},
            "collection": {"name": name},
            "artifact": artifact,
            "download_url": f"{address}/download/{tarball.name}",
            "metadata": {"dependencies": {}},
            "signatures": [],
        },
    }
    answers = {path: json.dumps(document).encode() for path, document in documents.items()}
    return {**answers, f"/download/{tarball.name}": content}


@contextlib.contextmanager
def galaxy(tarball: Path):
    """The address of the server, as long as the block lasts."""
    answers: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            answer = answers.get(self.path.partition("?")[0])
            self.send_response(200 if answer is not None else 404)
            self.send_header("Content-Length", str(len(answer or b"{}")))
            self.end_headers()
            self.wfile.write(answer or b"{}")

        def log_message(self, *_unused):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    address = f"http://127.0.0.1:{server.server_port}"
    answers.update(pages(tarball, address))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield address
    finally:
        server.shutdown()
        server.server_close()
