# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the documentation as a web site: the guides, and a reference page for every plugin, module and role.

Called with a folder to work in, which is emptied first. A warning of any tool is an error.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Pages, and files that pages link to.
COPIED = [
    "README.md",
    "CONTRIBUTING.md",
    "COPYING",
    "docs",
    "roles/*/README.md",
    "roles/*/meta",
    "playbooks/drain_then_approve.yml",
]
# The pages of Ansible that the reference refers to. Its own index would have to be downloaded for every build.
ANSIBLE_PAGES = {
    "action_plugins": "plugins/action.html",
    "ansible_configuration_settings": "reference_appendices/config.html",
    "common_return_values": "reference_appendices/common_return_values.html",
}
INVENTORY_PLUGINS = ["ansible.builtin.constructed", "azure.azcollection.azure_rm"]


def copy_pages(source: Path) -> None:
    for pattern in COPIED:
        for found in ROOT.glob(pattern):
            target = source / found.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if found.is_dir() else shutil.copy2)(found, target)
    shutil.move(source / "docs" / "site" / "index.rst", source / "index.rst")


def write_index_of_ansible(path: Path) -> None:
    header = "# Sphinx inventory version 2\n# Project: Ansible\n# Version:\n# The rest is compressed using zlib.\n"
    plugins = {
        f"ansible_collections.{name}_inventory": f"collections/{name.replace('.', '/')}_inventory.html"
        for name in INVENTORY_PLUGINS
    }
    pages = {**ANSIBLE_PAGES, **plugins}
    lines = "".join(f"{label} std:label -1 {page} {label}\n" for label, page in pages.items())
    path.write_bytes(header.encode() + zlib.compress(lines.encode()))


def write_reference(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    options = ["--use-current", "--squash-hierarchy", "--fail-on-error", "--dest-dir", str(folder)]
    subprocess.run(["antsibull-docs", "collection", *options, "maintenance.azure"], check=True)


def main() -> None:
    work = Path(sys.argv[1]).resolve()
    source, site = work / "source", work / "html"
    shutil.rmtree(work, ignore_errors=True)
    source.mkdir(parents=True)
    copy_pages(source)
    write_index_of_ansible(source / "ansible.inv")
    write_reference(source / "reference")
    settings = ROOT / "docs" / "site"
    subprocess.run(["sphinx-build", "-q", "-W", "--keep-going", "-c", settings, source, site], check=True)
    print(f"{len(list(site.rglob('*.html')))} pages without a warning, begin at {site.relative_to(ROOT)}/index.html")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{failed.cmd[0]}: exit code {failed.returncode}")
