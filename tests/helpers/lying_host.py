# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that lies: the real Python and the real curl run on it, and what they answer is rewritten on the way.

It is what a host can do that was broken into. Every lie that was told is written down, so that a test can see that its
lie was delivered before it says that nobody trusted it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from helpers import transports as ways

# Stands for python3 or curl on the host. The lies are in a file beside it: `merge` goes into every JSON object of an
# answer, `journal` takes the place of the journal, `body` that of the service's answer, `text` that of all of it.
# With `modules_only` no command line is taken, as where the one-command way does not work.
PROGRAM = """#!{python}
import json, os, pathlib, re, subprocess, sys
here = pathlib.Path(__file__).resolve().parent
lies = json.loads((here / "lies.json").read_text())

def untrue(value):
    if isinstance(value, list):
        return [untrue(one) for one in value]
    if not isinstance(value, dict):
        return value
    found = {{name: untrue(one) for name, one in value.items()}}
    if "journal" in lies and isinstance(found.get("journal", 0), (dict, type(None))):
        found["journal"] = lies["journal"]
    found.update(lies.get("merge", {{}}))
    return found

def rewritten(found):
    try:
        document = json.loads(found)
    except ValueError:
        return found
    with (here / "told").open("a") as told:
        told.write(json.dumps([pathlib.Path(__file__).name, lies]) + "\\n")
    return lies["text"] if "text" in lies else json.dumps(untrue(document))

def of_curl(answer):
    head, blank, body = answer.partition("\\r\\n\\r\\n")
    if not blank:
        return answer
    body = rewritten(lies["body"] if "body" in lies and "/scheduledevents" in " ".join(sys.argv) else body)
    head = re.sub("(?i)content-length: *[0-9]+", "Content-Length: %d" % len(body.encode()), head)
    return head + blank + body

if lies.get("modules_only") and sys.argv[1:2] and sys.argv[1].startswith("-"):
    sys.exit(3)
mine = not lies.get("only") or any(word in " ".join(sys.argv) for word in lies["only"])
done = subprocess.run([{real!r}, *sys.argv[1:]], stdout=subprocess.PIPE)
text = done.stdout.decode("utf-8", "surrogateescape")
if mine and {kind!r} == "curl":
    parts = re.split("(--connected at--[0-9.,]+;)", text)
    text = "".join(of_curl(part) if number % 2 == 0 else part for number, part in enumerate(parts))
elif mine:
    mark = "--maintenance.azure--"
    if text.count(mark) == 2:
        before, found, after = text.split(mark)
        text = before + mark + rewritten(found) + mark + after
    else:
        # A module's answer is a line of its own.
        text = "".join(rewritten(line) + "\\n" if line.startswith("{{") else line + "\\n" for line in text.splitlines())
sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
sys.stdout.flush()
sys.exit(done.returncode)
"""


class LyingHost:
    """Programs for one host, and what they have said."""

    def __init__(self, folder: Path, only: tuple[str, ...] = ()) -> None:
        """`only`: words of which one must be in a command that is answered with a lie, such as an endpoint."""
        self.folder = folder
        self.only = list(only)
        folder.mkdir()
        for kind, real in (("python3", sys.executable), ("curl", shutil.which("curl") or "/nonexistent/curl")):
            program = folder / kind
            program.write_text(PROGRAM.format(python=sys.executable, real=real, kind=kind))
            program.chmod(0o755)
        self.says()

    def says(self, **lies: Any) -> None:
        (self.folder / "lies.json").write_text(json.dumps({"only": self.only, **lies}))

    @property
    def host_vars(self) -> dict[str, Any]:
        return {"ansible_python_interpreter": str(self.folder / "python3")}

    def path(self, with_curl: bool) -> str:
        """For the environment of a run whose hosts are this machine: this host's curl, or none at all."""
        if with_curl:
            return os.pathsep.join([str(self.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
        tools = ways.play_keywords(self.folder, "command")["environment"]["PATH"]
        return os.pathsep.join([tools, str(Path(sys.executable).parent)])

    def told(self) -> list[str]:
        """The programs that have told a lie, one entry for each."""
        path = self.folder / "told"
        return [json.loads(line)[0] for line in path.read_text().splitlines()] if path.exists() else []
