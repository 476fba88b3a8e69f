# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Galaxy server that has one collection: as much of its interface as `ansible-galaxy collection install` asks for."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from helpers.network import http_server


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

    def answer(_method, path, _headers, _body):
        found = answers.get(path.partition("?")[0])
        return (404, {}) if found is None else (200, found)

    with http_server(answer) as address:
        answers.update(pages(tarball, address))
        yield address
