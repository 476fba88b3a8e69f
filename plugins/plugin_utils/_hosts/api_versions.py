# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which api-version to ask the service of a host for, where the user leaves that to us."""

from __future__ import annotations

import hashlib
import typing as t
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS, AUTO


class ApiVersions:
    """What was found out about a host. Lives in a folder of the run, as each task is a process of its own."""

    def __init__(self, run_folder: str | Path, host: str) -> None:
        self.folder = Path(run_folder) / "azure-api-versions"
        self.host = host

    def wanted(self, options: dict[str, t.Any]) -> str:
        """The version to ask for: that of the options, or what was found; `auto` before anything was."""
        if options["api_version"] != AUTO:
            return str(options["api_version"])
        try:
            found = self._file(options["endpoint"]).read_text(encoding="ascii")
        except (OSError, UnicodeDecodeError):
            return AUTO
        return found if found in API_VERSIONS else AUTO

    def learn(self, options: dict[str, t.Any], answers: dict[str, t.Any]) -> None:
        """Remember which version was answered."""
        version = answers.get("api_version")
        if options["api_version"] != AUTO or version is None:
            return
        self.folder.mkdir(mode=0o700, exist_ok=True)
        # An endpoint that was found too is asked by its own name from now on.
        for endpoint in (options["endpoint"], str(answers["endpoint"])):
            self._file(endpoint).write_text(version, encoding="ascii")

    def _file(self, endpoint: str) -> Path:
        name = hashlib.sha256(f"{self.host} {endpoint}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / name
