# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write the user's pip settings, from wherever they come, into one file.

The Makefile gives every tool a HOME inside the clone, and ansible-test hands on no PIP_* variable to its own pip:
without this a user who needs a proxy or a package mirror could not run the tests.
"""

from __future__ import annotations

import ast
import configparser
import subprocess
import sys
from pathlib import Path


def settings() -> configparser.RawConfigParser:
    listing = [sys.executable, "-m", "pip", "config", "list", "--disable-pip-version-check"]
    lines = subprocess.run(listing, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    config = configparser.RawConfigParser()
    # What pip lists as :env: wins over the files, so it comes last here.
    for line in sorted(lines, key=lambda line: line.startswith(":env:")):
        name, value = line.split("=", 1)
        section, key = name.rsplit(".", 1)
        section = section.replace(":env:", "global")
        if not config.has_section(section):
            config.add_section(section)
        config.set(section, key, ast.literal_eval(value))
    return config


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.touch(mode=0o600)  # an index address may hold a password
    with target.open("w", encoding="utf-8") as stream:
        settings().write(stream)
