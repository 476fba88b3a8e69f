# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML page that needs nothing else. How it looks is in templates."""

from __future__ import annotations

import base64
import hashlib
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._common.text import clock, some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.rows import table_rows
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.timeline import coming, last_run
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")
_STATE_WORDS = {"pending": "planned", "started": "started", "clear": "nothing planned", "unknown": "unknown"}
# Hosts that are listed one by one, with what kept them from being read.
_MOST_UNREAD = 200
# Names that are written out before "and 7 more".
_MOST_NAMES = 6


def render_page(report: Mapping[str, t.Any], json_name: str) -> str:
    """`json_name` is the file beside the page that holds the same as data."""
    script = _our_own("page.js")
    run = report["last_run"] or {}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            json_name=json_name,
            policy=_policy(script),
            style=_our_own("page.css"),
            script=script,
            stopped=run.get("stopped"),
            left_drained=run.get("left", {}).get("drained"),
            coming=coming(report),
            last_run=last_run(report),
            unread=[host for host in report["hosts"] if host["unread"]],
            rows=table_rows(report),
        )
    )


def _environment() -> Environment:
    # Whatever is not a template is text: all of it is escaped, and nothing in it is evaluated.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(clock=clock, number=_number, plural=_plural, some_names=_some_names)
    environment.globals.update(most_names=_MOST_NAMES, most_unread=_MOST_UNREAD, state_words=_STATE_WORDS)
    return environment


def _number(number: int) -> str:
    return f"{number:,}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _some_names(names: list[str]) -> str:
    return some_of(names, _MOST_NAMES)


def _our_own(name: str) -> Markup:
    # A file of this collection is no text from outside.
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))  # noqa: S704


def _policy(script: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but ours."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
        " base-uri 'none'; form-action 'none'"
    )
