# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.plugin_utils._report.html import (
    DOT,
    NEW_LINE,
    countdown,
    join,
    plural,
    time_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.lines import coming_up, what_was_done
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.table import table
from markupsafe import Markup

# Hosts that are listed one by one, with what kept them from being read.
_MOST_UNKNOWN = 200

_PAGE = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{title}</h1>
<p class="quiet">{subtitle}</p>
</header>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
""")


def render_page(report: Mapping[str, t.Any], json_name: str) -> str:
    """`json_name` is the file beside the page that holds the same as data."""
    style, script = _our_own("page.css"), _our_own("page.js")
    body = [
        _warnings(report),
        _counts(report),
        coming_up(report),
        what_was_done(report),
        _unknown(report),
        table(report),
    ]
    page = _PAGE.format(
        policy=_policy(script),
        title=report["title"],
        style=style,
        script=script,
        subtitle=_subtitle(report, json_name),
        body=join(body, NEW_LINE),
    )
    return str.__str__(page)


def _our_own(name: str) -> Markup:
    # A file of this collection is no text from outside.
    return Markup(Path(__file__).with_name(name).read_text(encoding="utf-8"))  # noqa: S704


def _policy(script: str) -> str:
    """Nothing is loaded from anywhere, and no script runs but ours."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}';"
        " base-uri 'none'; form-action 'none'"
    )


def _subtitle(report: Mapping[str, t.Any], json_name: str) -> Markup:
    parts = [Markup("Made {}").format(time_of(report["made_at"]))]
    if report["oldest_reading"]:
        parts.append(Markup("oldest reading {}").format(time_of(report["oldest_reading"])))
    parts.append(Markup('<a href="{}">the same as JSON</a>').format(json_name))
    return join(parts, DOT)


def _warnings(report: Mapping[str, t.Any]) -> Markup:
    said = []
    if report["stale"]:
        said.append(
            Markup("Some readings are old, the oldest from {}. What Azure announced since then is not in here.").format(
                time_of(report["oldest_reading"])
            )
        )
    run = report["last_run"]
    if run and run["left"].get("drained"):
        said.append(Markup("Left drained: {}").format(", ".join(run["left"]["drained"])))
    if run and run.get("stopped"):
        said.append(Markup("The last run was stopped. {}").format(run["stopped"]))
    return join(Markup('<p class="warning" role="status">{}</p>').format(text) for text in said)


def _counts(report: Mapping[str, t.Any]) -> Markup:
    counts = report["counts"]
    tiles = []
    if counts["next_due"]:
        tiles.append(
            _tile(
                "next",
                countdown(counts["next_due"], counts["next_seconds_left"]),
                "next deadline",
                time_of(counts["next_due"]),
            )
        )
    else:
        tiles.append(_tile("next", "none", "next deadline", f"{plural(counts['events'], 'event')} in all"))
    share = f"of {plural(counts['hosts'], 'host')}"
    tiles.append(_tile("pending", f"{counts['pending']:,}", "planned", share))
    tiles.append(_tile("started", f"{counts['started']:,}", "started", share))
    tiles.append(_tile("unknown", f"{counts['unknown']:,}", "unknown", "could not be read"))
    tiles.append(_tile("clear", f"{counts['clear']:,}", "nothing planned", share))
    return Markup('<section class="counts" aria-label="Counts">{}</section>').format(join(tiles))


def _tile(kind: str, figure: str, label: str, more: str) -> Markup:
    quiet = " is-none" if figure in ("0", "none") else ""
    return Markup(
        '<div class="tile {}{}"><span class="label">{}</span><strong>{}</strong><span class="quiet">{}</span></div>'
    ).format(kind, quiet, label, figure, more)


def _unknown(report: Mapping[str, t.Any]) -> Markup:
    hosts = [host for host in report["hosts"] if host["unread"]]
    if not hosts:
        return Markup("")
    items = join(Markup("<li><b>{}</b> {}</li>").format(host["name"], host["unread"]) for host in hosts[:_MOST_UNKNOWN])
    more = (
        Markup('<li class="quiet">and {} more</li>').format(len(hosts) - _MOST_UNKNOWN)
        if len(hosts) > _MOST_UNKNOWN
        else ""
    )
    return Markup(
        '<section><h2>Not read</h2><p class="quiet">These hosts did not tell what is planned for them. That is not the'
        " same as nothing.</p><details{}><summary>{}</summary><ul>{}{}</ul></details></section>"
    ).format(Markup(" open") if len(hosts) <= 5 else "", plural(len(hosts), "host"), items, more)
