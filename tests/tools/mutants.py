# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks the code on purpose, one place at a time, and shows which breaks no test notices.

The decisions are what may go down together, what the policy says, what may be approved, and what a roll may begin: of
their mutants at most 5 % may survive. The simulator is looked at as well, without a limit.

Everything happens in a copy of the tree. It takes hours; a share of all mutants, chosen by a seed, takes less.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cosmic_ray.commands
import cosmic_ray.mutating
from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parents[2]
MOST_SURVIVORS = 0.05
PURE = "plugins/plugin_utils"
SIMULATOR = "roles/simulator/files/metadata_simulator"
# File -> the tests that have to notice.
DECISIONS = {
    f"{PURE}/_plan/waves.py": "tests/unit/waves tests/unit/plan",
    f"{PURE}/_plan/policy.py": "tests/unit/policy",
    f"{PURE}/_approve/judge.py": "tests/unit/approval",
    f"{PURE}/_roll/decide.py": "tests/unit/roll_model",
    f"{PURE}/_roll/state.py": "tests/unit/roll_model",
    f"{PURE}/_roll/groups.py": "tests/unit/roll_model",
}
# `is` in place of `==`, and the other way round: for words and small numbers that is the same.
SAME = re.compile(r"ReplaceComparisonOperator_(Eq_Is|NotEq_IsNot|Is_Eq|IsNot_NotEq)$")
# What only says how it looks, or starts the program, is left out.
NO_RULES = ("__init__.py", "__main__.py", "command_line.py", "program.py", "listening_sockets.py", "network.py")


@dataclasses.dataclass
class Outcome:
    file: str
    kind: str
    line: int
    change: str
    survived: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=100, metavar="PERCENT", help="so much of all mutants")
    parser.add_argument("--seed", type=int, default=1, help="chooses which; the same seed chooses the same")
    parser.add_argument("--of", choices=["decisions", "simulator", "all"], default="all")
    parser.add_argument("--file", help="only files whose path holds this")
    parser.add_argument("folder", type=Path, help="where to work; what is there is removed")
    options = parser.parse_args()
    folder = options.folder.absolute()
    tree = copied_tree(folder)
    os.chdir(tree)
    os.environ.update(environment(tree))
    outcomes: list[Outcome] = []
    for kind, files in {"decisions": DECISIONS, "simulator": simulator_files(tree)}.items():
        if options.of in (kind, "all"):
            for file, tests in files.items():
                if not options.file or options.file in file:
                    outcomes += tried(file, kind, tests, options.share, options.seed)
    told_as_data = [dataclasses.asdict(one) for one in outcomes]
    (folder / "mutants.json").write_text(json.dumps(told_as_data, indent=1), encoding="utf-8")
    sys.exit(told(outcomes))


def copied_tree(folder: Path) -> Path:
    """A copy that is its own mirror: a file is mutated where tests and the simulator take it from."""
    shutil.rmtree(folder, ignore_errors=True)
    tree = folder / "tree"
    names = (
        "plugins",
        "roles",
        "playbooks",
        "tests",
        "docs",
        "meta",
        "extensions",
        "galaxy.yml",
        "pyproject.toml",
        "README.md",
    )
    tree.mkdir(parents=True)
    for name in names:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tree / name)
    mirror = tree / ".build" / "ansible_collections" / "maintenance"
    mirror.mkdir(parents=True)
    (mirror / "azure").symlink_to(tree)
    return tree


def environment(tree: Path) -> dict[str, str]:
    # What was compiled before would be taken for the mutant, where both were written in the same second.
    return {"PYTHONDONTWRITEBYTECODE": "1", "ANSIBLE_COLLECTIONS_PATH": str(tree / ".build")}


def simulator_files(tree: Path) -> dict[str, str]:
    files = sorted((tree / SIMULATOR).glob("*.py"))
    return {f"{SIMULATOR}/{file.name}": "tests/unit/simulator" for file in files if file.name not in NO_RULES}


def tried(file: str, kind: str, tests: str, share: float, seed: int) -> list[Outcome]:
    mutations = chosen(Path(file), share, seed)
    if not mutations:
        return []
    command = f"{shlex.quote(sys.executable)} -m pytest -x -q --hypothesis-seed=0 {tests}"
    began = time.monotonic()
    subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    print(f"{file}: {len(mutations)} mutants, the tests take {seconds:.0f} s", flush=True)
    found = []
    for mutation in mutations:
        result = cosmic_ray.mutating.mutate_and_test([mutation], command, timeout=3 * seconds + 20)
        survived = result.test_outcome == TestOutcome.SURVIVED
        found.append(Outcome(file, kind, mutation.start_pos[0], changed(result.diff), survived))
        print(f"\n  line {found[-1].line}: {found[-1].change}\n" if survived else ".", end="", flush=True)
    print(flush=True)
    return found


def chosen(path: Path, share: float, seed: int) -> list[MutationSpec]:
    with use_db(":memory:", WorkDB.Mode.create) as database:
        cosmic_ray.commands.init([path], database, {})
        mutations = [mutation for item in database.work_items for mutation in item.mutations]
    hidden = without_effect_in(path)
    mutations = [
        one
        for one in mutations
        if not SAME.search(one.operator_name) and not any(start <= one.start_pos < end for start, end in hidden)
    ]
    mutations.sort(key=lambda one: (one.start_pos, one.operator_name, one.occurrence))
    count = round(len(mutations) * share / 100)
    picked = random.Random(f"{seed} {path}").sample(range(len(mutations)), min(len(mutations), max(count, 1)))
    return [mutations[place] for place in sorted(picked)]


def without_effect_in(path: Path) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations and decorators are: what they say about types, or that data is frozen, no test could notice."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        inner = [
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        ]
        for one in inner:
            if isinstance(one, ast.expr):
                found.append(((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)))
    return found


def changed(diff: str | None) -> str:
    """The line as it was and as it is, without the rest of the diff."""
    lines = [line for line in (diff or "").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    return " -> ".join(" ".join(line[1:].split()) for line in lines)[:300]


def told(outcomes: list[Outcome]) -> int:
    """Prints the summary; the exit code is 1 where too many mutants of the decisions survive."""
    for file in dict.fromkeys(one.file for one in outcomes):
        mine = [one for one in outcomes if one.file == file]
        print(f"{sum(one.survived for one in mine):4} of {len(mine):4} survive  {file}")
        for one in mine:
            if one.survived:
                print(f"       line {one.line}: {one.change}")
    code = 0
    for kind, most in (("decisions", MOST_SURVIVORS), ("simulator", 1.0)):
        mine = [one for one in outcomes if one.kind == kind]
        share = sum(one.survived for one in mine) / len(mine) if mine else 0
        print(f"{kind}: {len(mine)} mutants, {share:.1%} survive")
        code = 1 if share > most else code
    return code


if __name__ == "__main__":
    main()
