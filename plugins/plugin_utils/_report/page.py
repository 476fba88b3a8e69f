# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report as a page: rows, a timeline, and the template."""

from __future__ import annotations

import base64
import collections
import hashlib
import math
import typing as t
from collections.abc import Iterable, Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .._azure import vms
from .._common import text
from .content import NO_DOMAIN


class Row(t.NamedTuple):
    state: str
    name: str
    domain: str
    event: Mapping[str, t.Any] | None
    azure_says: str
    last_run: str
    read_at: str


def table_rows(report: Mapping[str, t.Any]) -> list[Row]:
    events = {event["id"]: event for event in report["events"]}
    return [_row(host, events.get(event_id)) for host in report["hosts"] for event_id in host["events"] or [None]]


def _row(host: Mapping[str, t.Any], event: Mapping[str, t.Any] | None) -> Row:
    same_name = host["vm_name"].casefold() == host["name"].casefold()
    return Row(
        state=host["state"] if event is None else "started" if event["status"] == "Started" else "pending",
        name=host["name"] if same_name else f"{host['name']} ({host['vm_name']})",
        domain=host["domain"],
        event=event,
        azure_says=host["unread"] if event is None else _azure_says(event, host["unread"]),
        last_run=str((host["last_run"] or {}).get("state", "")).replace("_", " "),
        read_at=host["read_at"] or "",
    )


def _azure_says(event: Mapping[str, t.Any], unread: str) -> str:
    words = event["description"] or ""
    if event["uncovered"]:
        words = f"{words} Also names {text.some_of(event['uncovered'])}, none of these hosts.".strip()
    return f"{words} (The host itself is unread.)" if unread else words


# Lines and bars of one domain that are drawn one by one; what is more is summed up.
MOST_LINES = 5
MOST_BARS = 8
# Events of one wave that are drawn and told one by one.
MOST_EVENTS = 3
# Deadlines are seconds or days away: the scale is logarithmic, in minutes.
_TICKS = {
    0: "now",
    60: "1 min",
    300: "5 min",
    900: "15 min",
    3600: "1 h",
    21600: "6 h",
    86400: "1 day",
    604800: "7 days",
}
_LINE_KEYS = ("type", "status", "not_before", "seconds_left")
_EVENT_STEPS = {"started": "started_at", "over": "over_at"}
_SHORTEST_SPAN = 900
# So that labels do not touch on a phone. One near the end has its label on the other side.
_GAP_BETWEEN_TICKS = 16.0
_NEAR_THE_END = 85.0
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


class Tick(t.NamedTuple):
    place: float
    label: str

    @property
    def near_the_end(self) -> bool:
        return self.place > _NEAR_THE_END


class TimelineStep(t.NamedTuple):
    what: str
    at: str
    by: str = ""


def coming(report: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Rows of domains with the events that are ahead of them, from now to their deadline."""
    left = [event["seconds_left"] for event in report["events"] if event["seconds_left"] is not None]
    span = max([_SHORTEST_SPAN, *left])
    by_id = {event["id"]: event for event in report["events"]}
    hosts_of = collections.defaultdict(list)
    for host in report["hosts"]:
        for event_id in host["events"]:
            hosts_of[host["domain"], event_id].append(host["name"])
    rows = []
    for domain in report["domains"]:
        lines: dict[tuple[str, str, str], dict[str, t.Any]] = {}
        for event_id in domain["events"]:
            event = by_id[event_id]
            # Many events of one kind at one time are one line.
            line = lines.setdefault(
                (event["type"], event["status"], event["not_before"] or ""),
                {**{key: event[key] for key in _LINE_KEYS}, "ids": [], "hosts": []},
            )
            line["ids"].append(event_id)
            line["hosts"] += hosts_of[domain["name"], event_id]
        drawn = sorted(lines.values(), key=lambda line: -1 if line["seconds_left"] is None else line["seconds_left"])
        for line in drawn:
            line["hosts"] = sorted(set(line["hosts"]), key=text.natural)
            line["width"] = place_ahead(line["seconds_left"] or 0, span)
        more = drawn[MOST_LINES:]
        rows.append(
            {
                **domain,
                "lines": drawn[:MOST_LINES],
                "more": more,
                "hosts_of_more": sum(len(line["hosts"]) for line in more),
            }
        )
    return {"span": span, "ticks": _ticks_ahead(span), "rows": rows}


def place_ahead(seconds: float, span: float) -> float:
    return round(100 * math.log1p(seconds / 60) / math.log1p(span / 60), 2)


def _ticks_ahead(span: float) -> list[Tick]:
    return _apart([Tick(place_ahead(seconds, span), label) for seconds, label in _TICKS.items() if seconds <= span])


def _apart(ticks: Iterable[Tick]) -> list[Tick]:
    kept: list[Tick] = []
    for tick in ticks:
        gap = _GAP_BETWEEN_TICKS * (2 if tick.near_the_end else 1)
        if not kept or tick.place - kept[-1].place >= gap:
            kept.append(tick)
    return kept


def last_run(report: Mapping[str, t.Any]) -> dict[str, t.Any] | None:
    """Rows of waves with their domains: who was out of service from when to when, and the events meanwhile."""
    run = report["last_run"]
    if not run:
        return None
    begin, end = vms.moment(run.get("started_at")), vms.moment(run.get("ended_at"))
    if vms.NOW in (begin, end):
        return None
    end = max(end, begin + 1)
    domain_of = {host["name"]: host["domain"] for host in report["hosts"]}
    waves: dict[tuple[int, int], list[str]] = collections.defaultdict(list)
    for host, outcome in run["hosts"].items():
        waves[int(outcome.get("pass") or 0), int(outcome.get("wave") or 0)].append(host)
    scale = _Scale(begin, end)
    rows = [_wave(key, sorted(waves[key], key=text.natural), run, domain_of, scale) for key in sorted(waves)]
    return {
        "ok": bool(run.get("ok")),
        "started_at": run["started_at"],
        "ended_at": run["ended_at"],
        "ticks": scale.ticks(),
        "rows": rows,
    }


class _Scale:
    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end

    def place(self, at: t.Any) -> float | None:
        """Where a time is, within the run; None where there is no time."""
        seconds = vms.moment(at)
        if seconds == vms.NOW:
            return None
        return round(100 * (min(max(seconds, self.begin), self.end) - self.begin) / (self.end - self.begin), 2)

    def ticks(self) -> list[Tick]:
        length = self.end - self.begin
        step = next((step for step in _STEPS if length / step <= 6), _STEPS[-1])
        return _apart(
            Tick(round(100 * seconds / length, 2), f"+{_short(seconds)}" if seconds else "0")
            for seconds in range(0, int(length) + 1, step)
        )


def _short(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d} h"
    return f"{minutes}:{rest:02d}"


def _wave(
    key: tuple[int, int], hosts: list[str], run: Mapping[str, t.Any], domain_of: Mapping[str, str], scale: _Scale
) -> dict[str, t.Any]:
    outcomes = {host: run["hosts"][host] for host in hosts}
    events = [
        event
        for event in run["events"].values()
        if set(hosts) & set(event.get("hosts") or ())
        # An event of an earlier pass is drawn in the wave that took care of it.
        and (event.get("over_at") or event.get("approved_at") or event.get("outcome") != "left alone")
    ]
    known = {domain_of.get(host, NO_DOMAIN) for host in hosts}
    domains = sorted(known - {NO_DOMAIN} or known, key=text.natural)
    drained_at = max((one["drained_at"] for one in outcomes.values() if one.get("drained_at")), default=None)
    restored_at = max((one["restored_at"] for one in outcomes.values() if one.get("restored_at")), default=None)
    return {
        "pass": key[0],
        "wave": key[1],
        "title": text.in_words(domains),
        "hosts": hosts,
        "states": dict(collections.Counter(str(outcome.get("state")) for outcome in outcomes.values())),
        "errors": [f"{host}: {outcome['error']}" for host, outcome in outcomes.items() if outcome.get("error")],
        "bars": _bars(outcomes, scale),
        "events": [_window(event, scale) for event in events[:MOST_EVENTS]],
        "steps": _steps(drained_at, events, restored_at),
    }


def _steps(drained_at: str | None, events: list[dict[str, t.Any]], restored_at: str | None) -> list[TimelineStep]:
    """What was done when."""
    steps = [TimelineStep("drained", drained_at)] if drained_at else []
    for event in events[:MOST_EVENTS]:
        if event.get("approved_at"):
            by = f" by {event['approved_by']}" if event.get("approved_by") else ""
            what = f"{event.get('type')} approved" if len(events) > 1 else "approved"
            steps.append(TimelineStep(what, event["approved_at"], by))
        steps += [TimelineStep(what, event[key]) for what, key in _EVENT_STEPS.items() if event.get(key)]
    return [*steps, TimelineStep("restored", restored_at)] if restored_at else steps


def _bars(outcomes: Mapping[str, Mapping[str, t.Any]], scale: _Scale) -> list[dict[str, t.Any]]:
    """Who was out of service when. A host that never came back is out to the end."""
    out = {host: outcome for host, outcome in outcomes.items() if outcome.get("drained_at")}
    if len(out) > MOST_BARS:
        back = [outcome.get("restored_at") for outcome in out.values()]
        states = collections.Counter(str(outcome.get("state")) for outcome in out.values())
        merged = {
            "drained_at": min(outcome["drained_at"] for outcome in out.values()),
            "restored_at": None if None in back else max(filter(None, back)),
            "state": "restored" if set(states) == {"restored"} else next(s for s in states if s != "restored"),
        }
        out = {f"{len(out)} hosts": merged}
    bars = []
    for host, outcome in out.items():
        left, right = scale.place(outcome["drained_at"]), scale.place(outcome.get("restored_at"))
        left = left if left is not None else 0.0
        end = right if right is not None else 100.0
        bars.append(
            {
                "left": left,
                "width": round(max(0.0, end - left), 2),
                "state": str(outcome.get("state")),
                "title": _bar_title(host, outcome["drained_at"], outcome.get("restored_at")),
            }
        )
    return bars


def _bar_title(host: str, drained_at: str, restored_at: str | None) -> str:
    back = f"returned to service {restored_at[11:19]}" if restored_at else "not returned to service"
    return f"{host}: drained {drained_at[11:19]}, {back}"


def _window(event: Mapping[str, t.Any], scale: _Scale) -> dict[str, t.Any]:
    """From approval to over, and inside of it where the event started; None where that is not known."""
    begun = event.get("approved_at") or event.get("started_at") or event.get("over_at")
    left, right, started = scale.place(begun), scale.place(event.get("over_at")), scale.place(event.get("started_at"))
    width = None if left is None else round(max(0.0, (100.0 if right is None else right) - left), 2)
    mark = None
    if left is not None and started is not None and width:
        mark = round(min(max(100 * (started - left) / width, 0), 100), 1)
    return {"left": left, "width": width, "started": started, "mark": mark}


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
    environment.filters.update(clock=text.clock, number=_number, plural=_plural, some_names=_some_names)
    environment.globals.update(most_names=_MOST_NAMES, most_unread=_MOST_UNREAD, state_words=_STATE_WORDS)
    return environment


def _number(number: int) -> str:
    return f"{number:,}"


def _plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _some_names(names: list[str]) -> str:
    return text.some_of(names, _MOST_NAMES)


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
