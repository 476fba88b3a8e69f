# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check the patterns of the collection: by the published schema, and that what they name is there.

ansible-lint had the schema, and a rule about the folder, in its versions 25.7 and 25.8 only, so the schema comes from
there. galaxy-importer, which `make importer` runs, looks at the folder too. Called with the folder of the patterns and
a folder to keep the schema in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
from wheel_part import Unavailable, wheel_part

SCHEMA_OF = "ansible-lint==25.8.2"
SCHEMA = "ansiblelint/schemas/pattern.json"


def problems(pattern: Path, schema: dict[str, Any]) -> Iterator[str]:
    try:
        meta = json.loads((pattern / "meta" / "pattern.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        yield f"meta/pattern.json: {error}"
        return
    for error in jsonschema.Draft202012Validator(schema).iter_errors(meta):
        yield f"meta/pattern.json: {error.json_path}: {error.message}"
    if meta.get("name") != pattern.name:
        yield f"meta/pattern.json: the name is {meta.get('name')}, the folder's is {pattern.name}"
    templates = meta.get("aap_resources", {}).get("controller_job_templates", [])
    needed = ["README.md", *(f"playbooks/{template.get('playbook')}" for template in templates)]
    yield from (f"{name} is missing" for name in needed if not (pattern / name).is_file())
    if sum(1 for template in templates if template.get("primary")) != 1:
        yield "meta/pattern.json: one job template must be the primary one"
    known = {"name", "description", "playbook", "primary", "labels", "survey", "execution_environment"}
    for template in templates:
        # The schema lets a misspelt key pass.
        for key in sorted(set(template) - known):
            if key not in ("ask_credential_on_launch", "ask_inventory_on_launch", "ask_verbosity_on_launch"):
                yield f"meta/pattern.json: {template.get('name')}: unknown key {key}"
        for question in template.get("survey", {}).get("spec", []):
            if question.get("choices") and question.get("default") not in question["choices"]:
                yield f"meta/pattern.json: {question.get('variable')}: the default is none of the choices"


def main() -> None:
    folder, keep = (Path(argument).resolve() for argument in sys.argv[1:])
    try:
        schema = json.loads((wheel_part(SCHEMA_OF, SCHEMA, keep) / SCHEMA).read_text(encoding="utf-8"))
    except Unavailable as unavailable:
        sys.exit(str(unavailable))
    patterns = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [f"{pattern.name}: {text}" for pattern in patterns for text in problems(pattern, schema)]
    if found or not patterns:
        sys.exit("\n".join(found) or f"no pattern in {folder}")
    print(f"patterns checked: {', '.join(pattern.name for pattern in patterns)}")


if __name__ == "__main__":
    main()
