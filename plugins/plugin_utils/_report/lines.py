# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two time lines of the report as HTML."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.waves import some_of
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.html import (
    COMMA,
    DOT,
    MOST_NAMES,
    SPACE,
    deadline,
    join,
    plural,
    time_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._report.timeline import (
    NEAR_THE_END,
    Tick,
    coming,
    last_run,
)
from markupsafe import Markup

# Events of one wave that are drawn and told one by one.
_MOST_EVENTS = 3


def coming_up(report: Mapping[str, t.Any]) -> Markup:
    line = coming(report)
    if not report["events"] and not report["counts"]["unknown"]:
        note, body = "", Markup('<p class="empty">Nothing is planned for any of these hosts.</p>')
    else:
        note = "From now to the deadline, per domain. The scale is not even: what is near has more room."
        body = _axis(line["ticks"]) + join(_coming_row(row, line["ticks"]) for row in line["rows"])
    return Markup(
        '<section><h2>Coming up</h2><p class="quiet">{}</p><div class="lines" data-span="{}">{}</div></section>'
    ).format(note, line["span"], body)


def _coming_row(row: Mapping[str, t.Any], ticks: list[Tick]) -> Markup:
    lines = [_coming_line(line) for line in row["lines"]]
    if row["more"]:
        hosts = sum(len(line["hosts"]) for line in row["more"])
        lines.append(
            Markup('<div class="event"><p class="quiet">and {} more on {}, see the table</p></div>').format(
                plural(len(row["more"]), "deadline"), plural(hosts, "host")
            )
        )
    if row["unknown"]:
        lines.append(
            Markup('<div class="event"><p><b>Unknown</b> {} not read</p><div class="bar unknown"></div></div>').format(
                plural(row["unknown"], "host")
            )
        )
    if not lines:
        lines.append(Markup('<div class="event"><p class="quiet">nothing planned</p></div>'))
    return Markup(
        '<div class="row"><div class="domain"><h3>{}</h3><p class="quiet">{}</p></div>'
        '<div class="track">{}{}</div></div>'
    ).format(row["name"], plural(row["hosts"], "host"), _grid(ticks), join(lines))


def _coming_line(line: Mapping[str, t.Any]) -> Markup:
    started = line["status"] == "Started"
    when = Markup("has started") if started else deadline(line, DOT) or Markup("at any time")
    count = f" ({plural(len(line['hosts']), 'host')})" if len(line["hosts"]) > MOST_NAMES else ""
    return Markup('<div class="event"><p><b>{}</b> {}{} <span class="when">{}</span></p>{}</div>').format(
        line["type"], some_of(line["hosts"], MOST_NAMES), count, when, _coming_bar(line, started)
    )


def _coming_bar(line: Mapping[str, t.Any], started: bool) -> Markup:
    if started or line["seconds_left"] is None:
        return Markup('<div class="bar started"></div>')
    return Markup('<div class="bar pending" data-until="{}" style="width:{}%"></div>').format(
        line["not_before"], line["width"]
    )


def what_was_done(report: Mapping[str, t.Any]) -> Markup:
    line = last_run(report)
    if line is None:
        body = Markup('<p class="empty">No run is known. The guide says how a report gets to know the last one.</p>')
        return Markup("<section><h2>Last run</h2>{}</section>").format(body)
    run = report["last_run"]
    verdict = Markup('<span class="badge {}">{}</span>').format(
        *(("clear", "all is well") if run.get("ok") else ("failed", "something is left to do"))
    )
    if line["rows"]:
        body = _axis(line["ticks"]) + join(_run_row(row, line["ticks"]) for row in line["rows"])
    else:
        body = Markup('<p class="empty">There was nothing to do for any host.</p>')
    legend = Markup(
        '<p class="legend quiet" aria-hidden="true"><span class="key out"></span>drained to restored'
        '<span class="key event-window"></span>approved to over<span class="key started-mark"></span>started</p>'
    )
    return Markup(
        '<section><h2>Last run {}</h2><p class="quiet">{} to {}</p><div class="lines run">{}</div>{}</section>'
    ).format(
        verdict,
        time_of(line["started_at"]),
        time_of(line["ended_at"], short=True),
        body,
        legend if line["rows"] else "",
    )


def _run_row(row: Mapping[str, t.Any], ticks: list[Tick]) -> Markup:
    bars = join(
        Markup('<div class="bar out {}" style="margin-left:{}%;width:{}%" title="{}"></div>').format(
            span["state"], span["left"], max(span["width"], 0.5), _bar_title(span)
        )
        for span in row["bars"]
    )
    windows = join(
        Markup('<div class="bar event-window" style="margin-left:{}%;width:{}%">{}</div>').format(
            event["left"], max(event["width"], 0.5), _started_mark(event)
        )
        for event in row["events"][:_MOST_EVENTS]
        if event["left"] is not None
    )
    title = f"wave {row['wave']}" if row["wave"] else "restored first"
    again = f", pass {row['pass']}" if row["pass"] > 1 else ""
    count = f" ({plural(len(row['hosts']), 'host')})" if len(row["hosts"]) > MOST_NAMES else ""
    return Markup(
        '<div class="row"><div class="domain"><h3>{}</h3><p class="quiet">{}{}</p></div>'
        '<div class="track">{}<div class="event"><p>{}{} <span class="states">{}</span></p>{}{}{}{}</div></div></div>'
    ).format(
        row["title"],
        title,
        again,
        _grid(ticks),
        some_of(row["hosts"], MOST_NAMES),
        count,
        _states(row["states"]),
        bars,
        windows,
        _steps(row),
        join(Markup('<p class="error">{}</p>').format(error) for error in row["errors"][:5]),
    )


def _bar_title(span: Mapping[str, t.Any]) -> str:
    back = f"restored {span['restored_at'][11:19]}" if span["restored_at"] else "not restored"
    return f"{span['host']}: drained {span['drained_at'][11:19]}, {back}"


def _started_mark(event: Mapping[str, t.Any]) -> Markup:
    if event["started"] is None or not event["width"]:
        return Markup("")
    inside = 100 * (event["started"] - event["left"]) / event["width"]
    return Markup('<i class="started-mark" style="left:{}%"></i>').format(round(min(max(inside, 0), 100), 1))


def _states(states: Mapping[str, int]) -> Markup:
    good = ("restored", "passed", "vanished")
    return join(
        (
            Markup('<span class="badge {}">{}{}</span>').format(
                "clear" if state in good else "failed",
                f"{count} " if len(states) > 1 else "",
                state.replace("_", " "),
            )
            for state, count in states.items()
        ),
        SPACE,
    )


def _steps(row: Mapping[str, t.Any]) -> Markup:
    """The same as the bars, in words."""
    parts = []
    if row["drained_at"]:
        parts.append(Markup("drained {}").format(time_of(row["drained_at"], short=True)))
    for event in row["events"][:_MOST_EVENTS]:
        if event["approved_at"]:
            by = f" by {event['approved_by']}" if event["approved_by"] else ""
            what = f"{event['type']} " if len(row["events"]) > 1 else ""
            parts.append(Markup("{}approved {}{}").format(what, time_of(event["approved_at"], short=True), by))
        if event["started_at"]:
            parts.append(Markup("started {}").format(time_of(event["started_at"], short=True)))
        if event["over_at"]:
            parts.append(Markup("over {}").format(time_of(event["over_at"], short=True)))
    if row["restored_at"]:
        parts.append(Markup("restored {}").format(time_of(row["restored_at"], short=True)))
    return Markup('<p class="quiet steps">{}</p>').format(join(parts, COMMA)) if parts else Markup("")


def _axis(ticks: list[Tick]) -> Markup:
    marks = join(
        Markup('<span style="left:{}%"{}>{}</span>').format(
            tick.place, Markup(' class="last"') if tick.place > NEAR_THE_END else "", tick.label
        )
        for tick in ticks
    )
    return Markup('<div class="row axis" aria-hidden="true"><div></div><div class="track">{}</div></div>').format(marks)


def _grid(ticks: list[Tick]) -> Markup:
    return join(Markup('<i class="grid" style="left:{}%"></i>').format(tick.place) for tick in ticks)
