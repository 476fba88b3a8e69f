# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the report: one row for each host and event."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.html import (
    NEW_LINE,
    SPACE,
    STATE_WORDS,
    deadline,
    join,
    time_of,
)
from markupsafe import Markup

_COLUMNS = ("Host", "Domain", "State", "Event", "Due", "Azure says", "Last run", "Read")


def table(report: Mapping[str, t.Any]) -> Markup:
    events = {event["id"]: event for event in report["events"]}
    rows = join((row for host in report["hosts"] for row in _rows(host, events)), NEW_LINE)
    head = join(
        Markup(
            '<th scope="col" aria-sort="{}"><button type="button">{}<span aria-hidden="true"></span></button></th>'
        ).format("ascending" if name == "Host" else "none", name)
        for name in _COLUMNS
    )
    chips = join(
        Markup(
            '<button type="button" class="chip {}" data-state="{}" aria-pressed="false">{} <b>{:,}</b></button>'
        ).format(state, state, words, report["counts"][state])
        for state, words in STATE_WORDS.items()
    )
    domains = join(
        Markup('<option value="{}">{}</option>').format(row["name"], row["name"]) for row in report["domains"]
    )
    return Markup(
        '<section><h2 id="hosts">Hosts</h2><form class="filters" role="search" aria-label="Filter the hosts">'
        '<input type="search" id="words" placeholder="Filter by any word" aria-label="Filter by any word">'
        '<select id="domain" aria-label="Filter by domain"><option value="">All domains</option>{}</select>'
        '<span class="chips" role="group" aria-label="Filter by state">{}</span>'
        '<output id="shown" class="quiet"></output></form>'
        '<div class="scroll"><table aria-labelledby="hosts"><thead><tr>{}</tr></thead>'
        "<tbody>{}</tbody></table></div></section>"
    ).format(domains, chips, head, rows)


def _rows(host: Mapping[str, t.Any], events: Mapping[str, Mapping[str, t.Any]]) -> list[Markup]:
    return [_table_row(host, events[event_id]) for event_id in host["events"]] or [_table_row(host, None)]


def _table_row(host: Mapping[str, t.Any], event: Mapping[str, t.Any] | None) -> Markup:
    state = host["state"] if event is None else "started" if event["status"] == "Started" else "pending"
    name = (
        host["name"] if host["vm_name"].casefold() == host["name"].casefold() else f"{host['name']} ({host['vm_name']})"
    )
    cells = [
        Markup('<th scope="row" data-label="Host">{}</th>').format(name),
        _cell("Domain", host["domain"]),
        _cell("State", Markup('<span class="badge {}">{}</span>').format(state, STATE_WORDS[state])),
    ]
    if event is None:
        cells += [_cell("Event", ""), _cell("Due", "", "9")]
        cells.append(_cell("Azure says", host["unread"]))
    else:
        source = f" by {event['source']}" if event["source"] else ""
        cells.append(
            _cell("Event", Markup("{}{} <code>{}</code>").format(event["type"], source, event["id"]), event["type"])
        )
        due = deadline(event, SPACE)
        cells.append(_cell("Due", due or ("now" if state == "started" else "at any time"), event["not_before"] or "0"))
        words = event["description"] or ""
        if event["uncovered"]:
            words = f"{words} Also names {some_of(event['uncovered'])}, none of these hosts.".strip()
        cells.append(_cell("Azure says", f"{words} (The host itself was not read.)" if host["unread"] else words))
    run = host["last_run"] or {}
    cells.append(_cell("Last run", str(run.get("state", "")).replace("_", " ")))
    cells.append(_cell("Read", time_of(host["read_at"], short=True), host["read_at"] or ""))
    return Markup('<tr data-state="{}" data-domain="{}">{}</tr>').format(state, host["domain"], join(cells))


def _cell(label: str, content: str, key: str | None = None) -> Markup:
    if not content:
        return Markup('<td data-label="{}"{}></td>').format(label, _key(key))
    return Markup('<td data-label="{}"{}>{}</td>').format(label, _key(key), content)


def _key(key: str | None) -> Markup:
    """What the column is sorted by, where it is not the text."""
    return Markup("") if key is None else Markup(' data-key="{}"').format(key)
