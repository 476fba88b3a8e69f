# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random histories: a fleet, what Azure does, two or three runs, what happens to them, and who lies."""

from __future__ import annotations

import dataclasses

from ansible_collections.maintenance.azure.plugins.plugin_utils._run import model as _model
from hypothesis import strategies as st

from .azure import Script
from .liars import FOR_EVER, Claim, JournalLie, LeaseLie, Lie, MarkLie, NoteLie
from .parts import ALL
from .world import World

HEALED = 1500.0
# After the healing one run is left alone with what is there. It must be through with it long before that.
PATIENCE = 9000.0
FAR = 50000.0
HOSTS = ("h0", "h1", "h2", "h3")
DOMAINS = {"h0": "0", "h1": "1", "h2": "0", "h3": "2"}
PATTERNS = (HOSTS, ("h0", "h2"), ("h1", "h3"), ("h0", "h1"))
# A second group, in some histories.
OTHERS = {"g0": "0", "g1": "1"}
APART = ("k0", "k1", "k2")
# Group -> its lock hosts: those of both are the same, are not, or are hosts of the fleet.
LOCK_HOSTS = (
    {"set": APART, "other": APART},
    {"set": APART, "other": ("k3", "k4", "k5")},
    {"set": HOSTS[:3], "other": HOSTS[:3]},
)


@dataclasses.dataclass(frozen=True)
class Accident:
    at: float
    run: int
    kind: str  # of a run: kill, stop, cut from hosts; of a host: hang, disk
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
    others: bool = False
    lock_hosts: int = 0
    # (machine, its lies)
    liars: tuple = ()


def seconds(least, most):
    """In tenths, all of them equally likely: something happens all the time."""
    return st.sampled_from(range(10 * least, 10 * most)).map(lambda tenths: tenths / 10)


@st.composite
def scripts(draw, number, others):
    own = [("h0",), ("h1",), ("h2",), ("h3",), ("h0", "h2"), ("h0", "h1"), ("h0", "h1", "h2", "h3")]
    hosts = draw(st.sampled_from([*own, ("g0",), ("g1",), ("g0",), ("g1",), ("g0", "g1")] if others else own))
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
    outside = draw(st.sampled_from([()] * 9 + [("x",)]))
    # Nobody here can approve what names a VM outside the run: it is not days ahead.
    notices = [120.0, 300.0, 600.0, 900.0] if outside else [120.0, 300.0, 600.0, 900.0, FAR, FAR]
    sometimes = st.one_of(st.none(), st.none(), st.none(), seconds(20, 400))
    return Script(
        f"E{number}",
        hosts,
        appears=draw(seconds(0, 350)),
        notice=draw(st.sampled_from(notices)),
        type=kind,
        action=action,
        starts_after_approval=draw(st.sampled_from([2.0, 20.0, 100.0])),
        lasts=draw(st.sampled_from([30.0, 120.0])),
        down_for=draw(st.sampled_from([5.0, 25.0])),
        cancelled_after=draw(sometimes),
        grows_after=draw(sometimes),
        grows_by=draw(st.sampled_from([("h2",), ("h1",), ("h3",)])) if hosts[0] in HOSTS else ("g1",),
        outside=outside,
    )


accidents = st.builds(
    Accident,
    at=st.one_of(seconds(1, 300), seconds(1, 900)),
    run=st.sampled_from([0, 1, 2]),
    kind=st.sampled_from(["kill", "kill", "stop", "stop", "stop", "cut", "hang", "disk"]),
    seconds=st.one_of(seconds(5, 60), seconds(5, 400)),
    hosts=st.sets(st.sampled_from([*HOSTS, "k0", "k1", "g0"]), min_size=1, max_size=3).map(
        lambda names: tuple(sorted(names))
    ),
)


EVENTS = st.sampled_from(["E0", "E1", "E2", "E3", "X0"])
MACHINES = st.sampled_from([*HOSTS, *OTHERS])
RUNS = st.sampled_from(["R0", "R1", "R2", "nobody"])


def some_of(strategy, most=3):
    return st.lists(strategy, max_size=most, unique=True).map(tuple)


claims = st.builds(
    Claim,
    id=EVENTS,
    names=some_of(st.one_of(MACHINES, st.just("x"))),
    type=st.sampled_from(["Reboot", "Redeploy", "Freeze", "Preempt", "Terminate"]),
    action=st.sampled_from(["drain", "approve", "ignore"]),
    status=st.sampled_from(["Scheduled", "Started"]),
    due_in=st.sampled_from([None, -10.0, 60.0, 600.0, FAR]),
)
marks = st.builds(
    MarkLie,
    event=EVENTS,
    hosts=some_of(MACHINES),
    at=st.sampled_from([-1000.0, -50.0, 0.0, FAR]),
    takes_down=st.booleans(),
    vanishing=st.booleans(),
)
journals = st.builds(
    JournalLie,
    owner=RUNS,
    events=some_of(EVENTS),
    state=st.sampled_from(["draining", "drained", "restoring"]),
    marks=some_of(marks),
    worked_on_for=st.sampled_from([0.0, 30.0, FOR_EVER]),
)
note_lies = st.builds(
    NoteLie,
    host=MACHINES,
    events=st.tuples(EVENTS),
    run=RUNS,
    marks=st.booleans(),
    at=st.sampled_from([-1000.0, -50.0, 0.0, FAR]),
)
lease_lies = st.builds(
    LeaseLie, grants=st.sampled_from([True, True, False, None]), notes=some_of(note_lies), forgets=st.booleans()
)


def stowaways(name):
    """A liar that joins an event and says that its approval was sent."""
    return st.builds(
        lambda event, names, since: Lie(
            since=since, claims=(Claim(event, (*names, name)),), journal=JournalLie(marks=(MarkLie(event, (name,)),))
        ),
        event=EVENTS,
        names=some_of(MACHINES, most=1),
        since=seconds(0, 300),
    )


@st.composite
def lies(draw, name, is_lock_host):
    """One or two, one after the other."""
    if not is_lock_host and draw(st.booleans()):
        return (draw(stowaways(name)),)
    at, found = draw(st.sampled_from([0.0, 30.0, 100.0])), []
    for until in draw(st.sampled_from([(FOR_EVER,), (150.0, FOR_EVER), (300.0, 600.0)])):
        lie = Lie(
            since=at,
            until=until,
            claims=draw(some_of(claims)),
            hides=draw(some_of(EVENTS)),
            journal=draw(st.one_of(st.just(""), st.none(), journals, journals)),
            lease=draw(lease_lies) if is_lock_host else None,
        )
        found.append(lie)
        at = until
    return tuple(found)


@st.composite
def liars(draw, others, lock_hosts):
    """At most one host, and at most one lock host of each group; they may be the same."""
    asked = {name for group in LOCK_HOSTS[lock_hosts].values() for name in group}
    host = draw(st.sampled_from([None, None, "h0", "h1", "h3", *(["g0"] if others else [])]))
    found = [] if host is None else [(host, draw(lies(host, host in asked)))]
    if host not in asked and draw(st.sampled_from([False, False, True])):
        found += [(name, draw(lies(name, True))) for name in ("k0",) if name in asked]
    return tuple(found)


@st.composite
def histories(draw):
    others = draw(st.booleans())
    lock_hosts = draw(st.sampled_from(range(len(LOCK_HOSTS))))
    events = tuple(draw(scripts(number, others)) for number in range(draw(st.sampled_from([1, 2, 2, 3, 3, 4]))))
    takes = st.sampled_from([4.0, 10.0, 45.0, 150.0])
    fleet = [*HOSTS, *(OTHERS if others else ())]
    more = st.sampled_from([(), tuple(OTHERS)]) if others else st.just(())
    runs = tuple(
        (draw(seconds(20, 420)), draw(st.sampled_from(PATTERNS)) + draw(more), tuple(draw(takes) for _host in fleet))
        for _run in range(draw(st.sampled_from([1, 2, 2, 3, 3])))
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
        seed=draw(st.sampled_from(range(2**16))),
        others=others,
        lock_hosts=lock_hosts,
        liars=draw(liars(others, lock_hosts)),
    )


def play(history, parts=ALL):
    """The world at the end. Raises Broken where something does not hold."""
    events = history.events
    if not history.shared:
        # A single VM has events of its own.
        events = tuple(dataclasses.replace(e, hosts=e.hosts[:1], grows_after=None, outside=()) for e in events)
    if any(event.type == "Preempt" for event in events):
        # Nobody can approve what names a VM that is gone: then nothing is days ahead.
        events = tuple(dataclasses.replace(event, notice=min(event.notice, 900.0)) for event in events)
    world = World(
        {**DOMAINS, **(OTHERS if history.others else {})},
        events,
        parts,
        shared=history.shared,
        seed=history.seed,
        groups={**dict.fromkeys(DOMAINS, "set"), **(dict.fromkeys(OTHERS, "other") if history.others else {})},
        lock_hosts=LOCK_HOSTS[history.lock_hosts],
        lies=dict(history.liars),
    )
    # A limit over all groups counts what a liar says of itself: with one, it may hold up other groups.
    limit = None if history.liars else history.max_at_once
    settings = _model.Settings(drain_timeout=60.0, reserve=20.0, overlap=history.overlap, max_at_once=limit)
    for number, (at, pattern, takes) in enumerate(history.runs):
        more = {"drain_takes": dict(zip(world.hosts, takes, strict=True)), "batched": history.batched}
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

    def is_done():
        return last.ended_at is not None or (world.lies and _is_settled(world))

    world.clock.go(HEALED + PATIENCE + 100, done=is_done)
    _has_ended(world, last)
    return world


def _happens(world, accident):
    if accident.kind in ("hang", "disk"):
        yield from _happens_to_a_host(world, accident)
        return
    run = world.runs.get(f"R{accident.run}")
    if run is None or run.killed_at is not None:
        return
    if accident.kind == "kill":
        run.kill()
    elif accident.kind == "stop":
        run.stop(accident.seconds)
    else:
        hosts = set(accident.hosts) - _spared(world)
        run.cut_from |= hosts
        world.tell(f"{run.name} is cut from {sorted(hosts)}")
        yield accident.seconds
        run.cut_from -= hosts


def _happens_to_a_host(world, accident):
    host = accident.hosts[0]
    if host not in world.hosts or host in _spared(world):
        return
    yield from world.hangs(host, accident.seconds) if accident.kind == "hang" else world.loses_disk(host)


def _spared(world):
    """Where a lock host lies, the others do what they should: what comes of two faults at once is not promised."""
    asked = {lock_host.name for lock_hosts in world.lock_hosts.values() for lock_host in lock_hosts}
    return asked if any(name in asked for name in world.lies) else set()


def _is_settled(world):
    """In the groups without a liar nothing is left to do, some time after the healing."""
    honest = [name for name in world.hosts if not world.has_liar(world.group[name])]
    if world.clock.now < HEALED + 300:
        return False
    return not any(world.truth.is_disturbed(name) or world.hosts[name].journal for name in honest) and not any(
        _is_left(world, event) for event in world.azure.events.values()
    )


def _is_left(world, event):
    """What Azure has started by itself found the host in service: there is nothing to wait for. So did what the user
    has approved without a drain.
    """
    begun = event.started_by_itself or (event.status == "Started" and event.action == "approve")
    ours = event.action != "ignore" and not event.outside and not world.has_liar(world.azure.group_of(event))
    return ours and event.shown and not begun


def _has_ended(world, last):
    # A VM that was taken away while it was drained for something else, before anybody saw why, is waited for.
    unseen = any(host.is_away for host in world.hosts.values())
    is_through = last.ended_at is not None and last.ended_at < HEALED + PATIENCE
    if not is_through and not unseen and not (world.lies and _is_settled(world)):
        world.truth.broken("Progress", "the last run waits for ever")
    world.truth.at_the_end()
    for event in world.azure.events.values():
        if _is_left(world, event):
            world.truth.broken("Progress", f"{event.id} is still there")
