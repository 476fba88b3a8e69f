# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random histories: a fleet, what Azure does, two or three runs, and what happens to them."""

from __future__ import annotations

import dataclasses

from ansible_collections.maintenance.azure.plugins.plugin_utils._roll import model
from hypothesis import strategies as st

from .azure import Script
from .parts import ALL
from .world import World

HEALED = 1500.0
# After the healing one run is left alone with what is there. It must be through with it long before that.
PATIENCE = 9000.0
FAR = 50000.0
HOSTS = ("h0", "h1", "h2", "h3")
DOMAINS = {"h0": "0", "h1": "1", "h2": "0", "h3": "2"}
PATTERNS = (HOSTS, ("h0", "h2"), ("h1", "h3"), ("h0", "h1"))


@dataclasses.dataclass(frozen=True)
class Accident:
    at: float
    run: int
    kind: str  # kill, stop, cut
    seconds: float = 0.0
    hosts: tuple = ()


@dataclasses.dataclass(frozen=True)
class History:
    events: tuple
    runs: tuple  # (at, pattern, drain seconds of each host)
    accidents: tuple
    shared: bool
    overlap: str
    max_at_once: int | None
    batched: bool
    quick: bool
    seed: int


@st.composite
def scripts(draw, number):
    hosts = draw(
        st.sampled_from([("h0",), ("h1",), ("h2",), ("h3",), ("h0", "h2"), ("h0", "h1"), ("h0", "h1", "h2", "h3")])
    )
    kind, action = draw(
        st.sampled_from(
            [("Reboot", "drain")] * 4
            + [("Redeploy", "drain")] * 3
            + [
                ("Freeze", "approve"),
                ("Freeze", "drain"),
                ("Reboot", "approve"),
                ("Reboot", "ignore"),
                ("Preempt", "drain"),
            ]
        )
    )
    strangers = draw(st.sampled_from([()] * 9 + [("x",)]))
    # Nobody here can approve what names a stranger: it is not days ahead.
    notices = [120.0, 300.0, 600.0, 900.0] if strangers else [120.0, 300.0, 600.0, 900.0, FAR, FAR]
    sometimes = st.one_of(st.none(), st.none(), st.none(), st.floats(20, 400))
    return Script(
        f"E{number}",
        hosts,
        appears=draw(st.floats(0, 500)),
        notice=draw(st.sampled_from(notices)),
        type=kind,
        action=action,
        starts_after_approval=draw(st.sampled_from([2.0, 20.0, 100.0])),
        lasts=draw(st.sampled_from([30.0, 120.0])),
        down_for=draw(st.sampled_from([5.0, 25.0])),
        cancelled_after=draw(sometimes),
        grows_after=draw(sometimes),
        grows_by=draw(st.sampled_from([("h2",), ("h1",), ("h3",)])),
        strangers=strangers,
    )


accidents = st.builds(
    Accident,
    at=st.floats(1, 900),
    run=st.integers(0, 2),
    kind=st.sampled_from(["kill", "kill", "stop", "stop", "stop", "cut"]),
    seconds=st.floats(5, 400),
    hosts=st.sets(st.sampled_from([*HOSTS, "k0", "k1"]), min_size=1, max_size=3).map(
        lambda names: tuple(sorted(names))
    ),
)


@st.composite
def histories(draw):
    events = tuple(draw(scripts(number)) for number in range(draw(st.integers(1, 4))))
    takes = st.sampled_from([4.0, 10.0, 45.0, 150.0])
    runs = tuple(
        (draw(st.floats(0, 300)), draw(st.sampled_from(PATTERNS)), tuple(draw(takes) for _host in HOSTS))
        for _run in range(draw(st.integers(1, 3)))
    )
    return History(
        events=events,
        runs=runs,
        accidents=tuple(draw(st.lists(accidents, max_size=5))),
        shared=draw(st.booleans()),
        overlap=draw(st.sampled_from(["wait", "wait", "proceed"])),
        max_at_once=draw(st.sampled_from([None, None, 1, 2])),
        batched=draw(st.booleans()),
        quick=draw(st.booleans()),
        seed=draw(st.integers(0, 2**16)),
    )


def play(history, parts=ALL):
    """The world at the end. Raises Broken where something does not hold."""
    events = history.events
    if not history.shared:
        # A single VM has events of its own.
        events = tuple(dataclasses.replace(e, hosts=e.hosts[:1], grows_after=None, strangers=()) for e in events)
    if any(event.type == "Preempt" for event in events):
        # Nobody can approve what names a VM that is gone: then nothing is days ahead.
        events = tuple(dataclasses.replace(event, notice=min(event.notice, 900.0)) for event in events)
    world = World(DOMAINS, events, parts, shared=history.shared, seed=history.seed)
    settings = model.Settings(
        drain_timeout=60.0, reserve=20.0, overlap=history.overlap, max_at_once=history.max_at_once
    )
    for number, (at, pattern, takes) in enumerate(history.runs):
        more = {"drain_takes": dict(zip(HOSTS, takes, strict=True)), "batched": history.batched}
        more["quick"] = history.quick
        world.start_run(f"R{number}", pattern, at, patience=900.0, settings=settings, **more)
    for accident in history.accidents:
        world.clock.start(_happens(world, accident), after=accident.at)
    world.go(HEALED)
    for run in world.runs.values():
        run.cut_from.clear()
    last = world.start_run(
        "last", at=HEALED + 1, patience=PATIENCE, settings=settings, batched=history.batched, quick=history.quick
    )
    world.clock.go(HEALED + PATIENCE + 100, done=lambda: last.ended_at is not None)
    _has_ended(world, last)
    return world


def _happens(world, accident):
    run = world.runs.get(f"R{accident.run}")
    if run is None or run.killed_at is not None:
        return
    if accident.kind == "kill":
        run.kill()
    elif accident.kind == "stop":
        run.stop(accident.seconds)
    else:
        run.cut_from |= set(accident.hosts)
        world.tell(f"{run.name} is cut from {accident.hosts}")
        yield accident.seconds
        run.cut_from -= set(accident.hosts)


def _has_ended(world, last):
    # A VM that vanished while it was drained for something else, before anybody saw why, is waited for as any other.
    unseen = any(host.vanished for host in world.hosts.values())
    if last.ended_at is None or (last.ended_at >= HEALED + PATIENCE and not unseen):
        world.truth.broken("Progress", "the last run waits for ever")
    world.truth.at_the_end()
    for event in world.azure.events.values():
        # What Azure has started by itself found the host in service: there is nothing to wait for. So did what the user
        # has approved without a drain.
        begun = event.started_by_itself or (event.status == "Started" and event.action == "approve")
        left = event.shown and not begun
        if left and event.action != "ignore" and not event.strangers:
            world.truth.broken("Progress", f"{event.id} is still there")
