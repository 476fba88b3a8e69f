# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run mutmut as [tool.mutmut] in pyproject.toml says, and fail where too many mutants survive, as mutmut can't."""

from __future__ import annotations

import fnmatch
import os
import sys

from mutmut.__main__ import cli
from mutmut.configuration import config
from mutmut.mutation.data import SourceFileMutationData
from mutmut.mutation.diff_apply import get_diff_for_mutant
from mutmut.mutation.mutators import mutation_operators
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import walk_mutatable_files

MOST_SURVIVORS = 0.01
# mutmut has no setting for operators. No test reads a message by the letter, and mypy checks what a call is given.
LEFT_OUT = ("operator_string", "operator_arg_removal")


def main() -> None:
    mutation_operators[:] = [pair for pair in mutation_operators if pair[1].__name__ not in LEFT_OUT]
    files = list(walk_mutatable_files())
    # mutmut takes a pattern without any file for one that is done.
    unused = [pattern for pattern in config().only_mutate if not fnmatch.filter(map(str, files), pattern)]
    if unused:
        sys.exit(f"only_mutate in pyproject.toml names no file with {', '.join(unused)}")
    cli(["run", "--max-children", os.environ["JOBS"], *sys.argv[1:]], standalone_mode=False)
    tried = left = 0
    for file in files:
        data = SourceFileMutationData(path=file)
        data.load()
        for name, code in data.exit_code_by_key.items():
            # Not asked for. Without a pattern it is none that anybody has noticed: somebody has pressed ^C.
            if code is None and sys.argv[1:]:
                continue
            tried += 1
            status = status_by_exit_code[code]
            if status not in ("killed", "timeout"):
                left += 1
                print(f"{status}: {get_diff_for_mutant(name, path=file)}")
            elif status == "timeout":
                print(f"took too long, so it counts as noticed: {name}")
    print(f"{tried} mutants, {left} survive, {left / (tried or 1):.1%}")
    sys.exit(left > tried * MOST_SURVIVORS)


if __name__ == "__main__":
    main()
