# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random histories of three lock hosts and several runs: with real files, a real quorum, and time that we make.

A run asks one lock host after the other. Between any two of these, time passes, other runs ask, lock hosts
reboot, lose their
disks, are cut off or have their wall clock set, and runs are killed and their dead process is seen. In the second part
one of the lock hosts lies.
"""

from __future__ import annotations

import dataclasses
import random
import shutil
import tempfile
from pathlib import Path

from ansible_collections.maintenance.azure.plugins.module_utils._host import lease as _lease
from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import Moment
from ansible_collections.maintenance.azure.plugins.module_utils._host.lease import release, renew, take
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import LeaseVerdict, verdict
from helpers.leases import note, owner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

SECONDS = 90
LOCK_HOSTS = ("k0", "k1", "k2")
RUNS = ("r0", "r1", "r2")
# Files that are flushed to no disk.
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
SHAPE = settings(max_examples=300, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck))


class WorldLockHost:
    def __init__(self, folder, name, booted_at):
        self.path = str(folder / name / "run.lock")
        self.boot = 0
        self.booted_at = booted_at
        self.wall_is_off_by = 0.0
        # Who was granted what last, by true time, as it was told: the file's own word is not believed here.
        self.owner, self.until, self.granted_in_boot = None, 0.0, 0

    def moment(self, now):
        return Moment(f"boot-{self.boot}", now - self.booted_at, max(0.0, now + self.wall_is_off_by))


@dataclasses.dataclass
class WorldRun:
    name: str
    incarnation: int = 0
    action: str = ""
    asks: list = dataclasses.field(default_factory=list)
    answers: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)
    forget: list = dataclasses.field(default_factory=list)
    began: float = 0.0
    writes_before: int = 0
    # A lock host has lost its disk since it began to ask.
    lost_a_disk: bool = False
    # Whoever has a majority acts until then at the latest: so many seconds after it began to ask for it.
    acts_until: float = float("-inf")

    @property
    def me(self):
        return owner(self.name, pid=100 + self.incarnation)


class Histories(RuleBasedStateMachine):
    @initialize(uptimes=st.tuples(*[st.floats(0, 5000)] * 3))
    def begin(self, uptimes):
        self.folder = Path(tempfile.mkdtemp(dir=MEMORY))
        self.now = 10_000.0
        self.lock_hosts = {
            name: WorldLockHost(self.folder, name, self.now - up) for name, up in zip(LOCK_HOSTS, uptimes, strict=True)
        }
        self.runs = {name: WorldRun(name) for name in RUNS}
        self.cut_off = set()
        self.dead = []
        # Every note that some lock host was given, in this order.
        self.writes = []
        # host -> how many there were before a majority was given one, which nobody has forgotten since.
        self.written = {}

    def teardown(self):
        shutil.rmtree(self.folder)

    @rule(seconds=st.one_of(st.floats(0, 3), st.floats(20, 45), st.sampled_from([89.5, 90, 90.5, 200])))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(name=st.sampled_from(LOCK_HOSTS), seconds=st.floats(0, 100))
    def a_lock_host_reboots(self, name, seconds):
        """It is up again after so many seconds, in which the others go on."""
        self.now += seconds
        self.lock_hosts[name].boot += 1
        self.lock_hosts[name].booted_at = self.now

    @rule(name=st.sampled_from(LOCK_HOSTS))
    def a_lock_host_loses_its_disk(self, name):
        """A lost disk always means a boot. A note that a majority had may then be on one lock host alone."""
        self.a_lock_host_reboots(name, 0)
        shutil.rmtree(self.folder / name, ignore_errors=True)
        self.written = {}
        for run in self.runs.values():
            run.lost_a_disk = bool(run.action)

    @rule(name=st.sampled_from(LOCK_HOSTS), seconds=st.floats(-1e6, 1e6))
    def a_clock_is_set(self, name, seconds):
        self.lock_hosts[name].wall_is_off_by = seconds

    @rule(run=st.sampled_from(RUNS), lock_host=st.sampled_from(LOCK_HOSTS))
    def a_way_is_cut_off_or_mended(self, run, lock_host):
        self.cut_off ^= {(run, lock_host)}

    @rule(run=st.sampled_from(RUNS))
    def a_run_is_killed(self, run):
        """Its process is dead at once; what it does on hosts is fenced there, as it is for one that was stopped."""
        killed = self.runs[run]
        self.dead.append(killed.me)
        self.runs[run] = WorldRun(run, killed.incarnation + 1)

    @rule(
        run=st.sampled_from(RUNS),
        action=st.sampled_from(["take", "take", "renew"]),
        hosts=st.sets(st.sampled_from("abc")),
        forget=st.sampled_from(["", "", "", "a"]),
        all_at_once=st.sampled_from([True, True, False]),
    )
    def a_run_asks(self, run, action, hosts, forget, all_at_once):
        asking = self.runs[run]
        if not asking.action:
            asking.action, asking.asks, asking.answers = action, list(LOCK_HOSTS), {}
            asking.began, asking.writes_before, asking.lost_a_disk = self.now, len(self.writes), False
            asking.notes = [{**note(host, run=run), "at": len(self.writes)} for host in sorted(hosts)]
            asking.forget = list(forget)
            if all_at_once:
                self.a_run_goes_on_asking(run, all_at_once)

    @precondition(lambda self: any(run.action for run in self.runs.values()))
    @rule(run=st.sampled_from(RUNS), all_at_once=st.booleans())
    def a_run_goes_on_asking(self, run, all_at_once):
        asking = self.runs[run]
        while asking.action and asking.asks:
            lock_host = asking.asks.pop(0)
            if (run, lock_host) not in self.cut_off:
                asking.answers[lock_host] = self.asked(asking, self.lock_hosts[lock_host])
            if not all_at_once:
                break
        if asking.action and not asking.asks:
            self.has_heard_all(asking)

    @rule(run=st.sampled_from(RUNS), forget=st.sampled_from(["", "", "a"]))
    def a_run_releases(self, run, forget):
        giver = self.runs[run]
        if giver.action:
            return
        giver.acts_until = float("-inf")
        self.written.pop(forget, None)
        for name, lock_host in self.lock_hosts.items():
            if (run, name) in self.cut_off:
                continue
            if release(lock_host.path, giver.me, forget=list(forget), moment=lock_host.moment(self.now))["changed"]:
                lock_host.until = self.now

    def asked(self, run, lock_host):
        given = {"notes": run.notes, "forget": run.forget, "moment": lock_host.moment(self.now)}
        if run.action == "take":
            answer = take(lock_host.path, run.me, SECONDS, **given)
            holder = answer["holder"]
            if holder and not answer["held"] and any(_lease.is_of(holder, me) for me in self.dead):
                answer = take(lock_host.path, run.me, SECONDS, replace=holder, **given)
        else:
            answer = renew(lock_host.path, run.me, SECONDS, **given)
        if answer["renewed"]:
            assert lock_host.owner == run.me, "renewed what was somebody else's"
            assert lock_host.until > self.now or lock_host.boot > lock_host.granted_in_boot, "renewed what had lapsed"
        if answer["held"]:
            others = lock_host.owner not in (None, run.me, *self.dead)
            assert not (others and lock_host.until > self.now), "granted while another had it"
            lock_host.owner, lock_host.until, lock_host.granted_in_boot = run.me, self.now + SECONDS, lock_host.boot
            self.writes += [(note["host"], note["run"], note["at"]) for note in run.notes]
            for host in run.forget:
                self.written.pop(host, None)
        return answer

    def has_heard_all(self, run):
        found: LeaseVerdict = verdict("", LOCK_HOSTS, run.answers, run.action)
        run.action = ""
        # Nobody acts for longer than a lease after the first question, however long the answers took.
        run.acts_until = run.began + SECONDS if found.held else float("-inf")
        if self.now < run.acts_until:
            self.nobody_else_acts(run)
            self.what_was_written_is_seen(found)
            if not run.lost_a_disk:
                self.written.update((note["host"], run.writes_before) for note in run.notes)

    def nobody_else_acts(self, run):
        for other in self.runs.values():
            assert other is run or other.acts_until <= self.now, f"{run.name} and {other.name} have the lease"

    def what_was_written_is_seen(self, found):
        """The note of that majority, or a later one for the same host."""
        seen = {(note["host"], note["run"], note["at"]) for note in found.notes}
        for host, before in self.written.items():
            later = {write for write in self.writes[before:] if write[0] == host}
            assert seen & later, f"nobody knows what was about to be done to {host}"


Histories.TestCase.settings = SHAPE
TestHistories = Histories.TestCase


# One of the three lock hosts lies, and all can be reached.

THEIRS = {**owner("invented"), "taken_at": "2026-11-16T00:00:00Z", "seconds_left": 90}
SILENT = {"unreachable": True, "msg": "No route to host"}
FREE = {"held": False, "renewed": False, "changed": False, "holder": None, "took_over_from": None, "notes": []}
GRANTS = {**FREE, "held": True, "renewed": True}
REFUSES = {**FREE, "holder": THEIRS}
LIES = (GRANTS, GRANTS, REFUSES, FREE, SILENT, {"held": "yes"}, {**GRANTS, "too_new_for": 50}, {**GRANTS, "notes": 7})


@dataclasses.dataclass
class Asking:
    """A run that takes or renews a lease, and gives all back where it is refused."""

    me: dict
    action: str = ""
    asks: list = dataclasses.field(default_factory=list)
    answers: dict = dataclasses.field(default_factory=dict)
    refusals: dict = dataclasses.field(default_factory=dict)
    began: float = 0.0
    acts_until: float = float("-inf")
    outvotes: bool = False

    def begin(self, action, order, now):
        self.action, self.asks, self.answers = action, list(order), {}
        if action == "release":
            self.acts_until = float("-inf")
        else:
            self.began = now

    def ask(self, world, now, lie):
        lock_host = self.asks.pop(0)
        if lock_host == world.liar:
            self.answers[lock_host] = lie
        else:
            path, moment = world.path(lock_host), Moment("boot", now, now)
            if self.action == "release":
                release(path, self.me, moment=moment)
            else:
                self.answers[lock_host] = {"take": take, "renew": renew}[self.action](
                    path, self.me, SECONDS, moment=moment
                )

    def has_heard_all(self, now):
        """Whether it was given back, so that the run has nothing any more."""
        if self.action == "release":
            self.action = ""
            return None
        found = verdict("", LOCK_HOSTS, self.answers, self.action, now=now, refused_before=self.refusals)
        self.action, self.refusals, self.outvotes = "", found.refusals, bool(found.outvoted)
        self.acts_until = self.began + SECONDS if found.held else float("-inf")
        return found


class World:
    def __init__(self, folder, liar):
        self.folder, self.liar = folder, liar

    def path(self, lock_host):
        return str(Path(self.folder) / lock_host / "run.lock")


class LiarHistories(RuleBasedStateMachine):
    @initialize(liar=st.sampled_from(LOCK_HOSTS))
    def begin(self, liar):
        self.world = World(tempfile.mkdtemp(dir=MEMORY), liar)
        self.now = 10_000.0
        self.runs = {name: Asking(owner(name)) for name in RUNS}

    def teardown(self):
        shutil.rmtree(self.world.folder)

    @rule(seconds=st.one_of(st.floats(0, 3), st.floats(20, 45), st.sampled_from([89.5, 90, 90.5, 200])))
    def time_passes(self, seconds):
        self.now += seconds

    @rule(
        run=st.sampled_from(RUNS),
        order=st.permutations(LOCK_HOSTS),
        action=st.sampled_from(["take", "take", "renew", "release"]),
        lie=st.sampled_from(LIES),
        all_at_once=st.booleans(),
    )
    def a_run_asks(self, run, order, action, lie, all_at_once):
        asking = self.runs[run]
        if not asking.action:
            asking.begin(action, order, self.now)
        while asking.action:
            asking.ask(self.world, self.now, lie)
            if not asking.asks:
                found = asking.has_heard_all(self.now)
                self.is_right(asking, found)
                if found and not found.held:
                    asking.begin("release", order, self.now)
            if not all_at_once:
                break

    def is_right(self, asking, found):
        if found and found.outvoted:
            since = found.refusals[found.outvoted]["since"]
            assert self.now - since > SECONDS, "outvoted too early"
        if found and found.held and not found.outvoted and asking.acts_until > self.now:
            others = [one for one in self.runs.values() if one is not asking and not one.outvotes]
            assert all(one.acts_until <= self.now for one in others), "two runs have the lease"


LiarHistories.TestCase.settings = SHAPE
TestLiarHistories = LiarHistories.TestCase


def seconds_until_one_has_it(seed, runs, lies, slow=3.0):
    """Runs that begin at the same time, ask in turn, give all back where they are refused, and pause by chance."""
    chance = random.Random(seed)
    folder = tempfile.mkdtemp(dir=MEMORY)
    try:
        world = World(folder, "k0" if lies else "")
        due = {name: chance.random() for name in RUNS[:runs]}
        asking = {name: Asking(owner(name)) for name in due}
        for _step in range(10_000):
            name = min(due, key=due.__getitem__)
            now, one = 10_000.0 + due[name], asking[name]
            if not one.action:
                one.begin("take", LOCK_HOSTS, now)
            one.ask(world, now, lies(chance) if lies else None)
            due[name] += chance.uniform(0.1, slow)
            if not one.asks:
                found = one.has_heard_all(now)
                if found is None:
                    due[name] += chance.uniform(4, 9)
                elif found.held:
                    return due[name]
                else:
                    one.begin("release", LOCK_HOSTS, now)
        raise AssertionError("nobody ever had the lease")
    finally:
        shutil.rmtree(folder)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([1, 2, 3]))
@example(0, 3)
def test_runs_that_race_do_not_lock_each_other_out_for_long(seed, runs):
    assert seconds_until_one_has_it(seed, runs, None) < 240


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_a_liar_that_refuses_for_ever_holds_a_run_up_for_90_seconds(seed):
    assert SECONDS < seconds_until_one_has_it(seed, 1, lambda _chance: REFUSES) < SECONDS + 30


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_a_liar_that_refuses_for_ever_holds_runs_that_race_up_for_little_more(seed):
    assert seconds_until_one_has_it(seed, 3, lambda _chance: REFUSES) < 480


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([1, 2, 3]))
def test_whatever_one_liar_says_a_run_gets_the_lease(seed, runs):
    assert seconds_until_one_has_it(seed, runs, lambda chance: chance.choice(LIES)) < 480
