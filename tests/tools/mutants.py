# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks the code on purpose, one place at a time, and shows which breaks no test notices.

The decisions are what may go down together, what the policy says, what may be approved, and what a roll may begin: of
their breaks at most 5 % may survive. The rest of the pure packages and the simulator are looked at without a limit.

Everything happens in a copy of the tree.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from mutation import child
from mutation.breaks import Break, breaks_of
from mutation.same_programs import same_program
from mutation.stages import Stages
from mutation.tree import copied_tree, to_be_broken
from mutation.trial import Trial
from mutation.which_files import DECISIONS, pure_files, simulator_files

MOST_SURVIVORS = 0.05
KINDS = ("decisions", "pure", "simulator")


@dataclasses.dataclass
class Outcome:
    file: str
    kind: str
    line: int
    change: str
    survived: bool
    # The test that noticed.
    by: str
    # Why it is no break at all, for those in same_programs.py.
    same: str
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=100, metavar="PERCENT", help="so much of all breaks")
    parser.add_argument("--seed", type=int, default=1, help="chooses which; the same seed chooses the same")
    parser.add_argument("--of", choices=[*KINDS, "all"], default="decisions")
    parser.add_argument("--file", help="only files whose path holds this, such as _eda with --of pure")
    parser.add_argument("--again", type=Path, metavar="RESULTS", help="only what survived in an earlier run")
    parser.add_argument(
        "--quick", action="store_true", help="only tests of the first stage that take less than a tenth of a second"
    )
    parser.add_argument(
        "--patience", type=float, default=30, metavar="SECONDS", help="for tests that wait; more on a busy machine"
    )
    parser.add_argument("folder", type=Path, help="where to work; what is there is removed")
    options = parser.parse_args()
    child.SECONDS_TO_WAIT = options.patience
    survivors = survivors_in(options.again) if options.again else None
    folder = options.folder.absolute()
    tree = copied_tree(folder)
    os.chdir(tree)
    os.environ["ANSIBLE_COLLECTIONS_PATH"] = str(tree / ".build")
    stages = Stages(tree, Trial)
    outcomes: list[Outcome] = []
    for kind, files in zip(KINDS, (DECISIONS, pure_files(tree), simulator_files(tree)), strict=True):
        if options.of not in (kind, "all"):
            continue
        for file, tests in files.items():
            if options.file and options.file not in file:
                continue
            breaks = breaks_of(file)
            if survivors is not None:
                breaks = [one for one in breaks if (file, one.change) in survivors]
            breaks = a_share_of(breaks, options.share, f"{options.seed} {file}")
            if not breaks:
                continue
            print(f"{file}: {len(breaks)} breaks", flush=True)
            for outcome in tried(tree / file, kind, breaks, stages, tests, options.quick):
                outcomes.append(outcome)
                with (folder / "results.jsonl").open("a", encoding="utf-8") as results:
                    results.write(json.dumps(dataclasses.asdict(outcome)) + "\n")
    stages.end()
    sys.exit(told(outcomes))


def survivors_in(results: Path) -> set[tuple[str, str]]:
    lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    return {(line["file"], line["change"]) for line in lines if line["survived"]}


def a_share_of(breaks: list[Break], share: float, seed: str) -> list[Break]:
    count = round(len(breaks) * share / 100)
    picked = random.Random(seed).sample(range(len(breaks)), min(len(breaks), max(count, 1)))
    return [breaks[place] for place in sorted(picked)]


def tried(path: Path, kind: str, breaks: list[Break], stages: Stages, tests: str, quick: bool) -> Iterable[Outcome]:
    with to_be_broken(path) as code:
        for one in breaks:
            began = time.monotonic()
            same = same_program(one.file, one.change)
            # All tests would run to their ends for it each time.
            verdict = stages.verdict(tests, one, code, quick or bool(same))
            seconds = round(time.monotonic() - began, 2)
            yield Outcome(one.file, kind, one.line, one.change, verdict.survived, verdict.by, same, seconds)
            seen = f"\n  line {one.line}: {one.change}\n" if verdict.survived and not same else "."
            print(seen, end="", flush=True)
    print(flush=True)


def told(outcomes: list[Outcome]) -> int:
    """Prints the summary; the exit code is 1 where too many breaks of the decisions survive."""
    for file in dict.fromkeys(one.file for one in outcomes):
        mine = [one for one in outcomes if one.file == file]
        left = [one for one in mine if one.survived and not one.same]
        print(f"{len(left):4} of {len(mine):4} survive  {file}")
        for one in left:
            print(f"       line {one.line}: {one.change}")
    code = 0
    for kind in KINDS:
        mine = [one for one in outcomes if one.kind == kind]
        if not mine:
            continue
        same = [one for one in mine if one.same]
        left = [one for one in mine if one.survived and not one.same]
        share = len(left) / (len(mine) - len(same) or 1)
        print(f"{kind}: {len(mine)} breaks, {len(left)} survive, {share:.1%}; {len(same)} more are the same program")
        code = 1 if kind == "decisions" and share > MOST_SURVIVORS else code
    for one in outcomes:
        if one.same and not one.survived:
            print(f"{one.by} shows that this is not the same program: {one.file}: {one.change}")
            code = 1
    return code


if __name__ == "__main__":
    main()
