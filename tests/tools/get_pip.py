# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Put a stand-in for the pip bootstrap script where ansible-test keeps its downloaded one.

ansible-test fetches that script from a server of its own, which a machine that only has a package index can't reach.
The stand-in starts from the pip that comes with Python.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

STAND_IN = """\
import subprocess, sys
subprocess.check_call([sys.executable, "-m", "ensurepip", "--upgrade", "--default-pip"])
subprocess.check_call([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "pip=={version}"])
"""


def main() -> None:
    spec = importlib.util.find_spec("ansible_test")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("ansible-test is not installed beside this Python.")
    source = Path(spec.submodule_search_locations[0], "_internal", "python_requirements.py")
    wanted = re.search(r"^ +pip='([\d.]+)',$", source.read_text(encoding="utf-8"), re.MULTILINE)
    if wanted is None:
        sys.exit(f"Can't see in {source} which pip ansible-test wants.")
    version = wanted[1]
    target = Path.home() / ".ansible" / "test" / "cache" / f"get_pip_{version.replace('.', '_')}.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(STAND_IN.format(version=version), encoding="utf-8")


if __name__ == "__main__":
    main()
