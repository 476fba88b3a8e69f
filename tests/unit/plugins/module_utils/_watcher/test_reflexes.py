# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reflexes as real processes against the simulator: drain, approve, return to service, with nobody else there."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host.clock import boot_id
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import (
    JournalFile,
    all_drained,
    begun,
    recorded,
    utc_now,
)
from ansible_collections.maintenance.azure.plugins.module_utils._host.ownership import OwnedJournal
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.children import (
    SECONDS_BETWEEN_REMINDERS,
    ReflexStarter,
)
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.decide import (
    MARK,
    SECONDS_OVER,
    digest_of_steps,
)
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import Watcher

pytestmark = pytest.mark.waits

ALL = [{"action": "drain_and_approve"}]
DIGEST = "d" * 64


class Host:
    """A VM with a watcher, reflexes, and steps that write down what they do."""

    def __init__(self, folder, simulator, vm, steps=None, reflex=None, settings=None, **more):
        self.simulator, self.vm = simulator, vm
        self.actions = folder / "actions"
        given = {"reflex": reflex or ALL, "steps": steps or [self.step(1, "a"), self.step(2, "b")], **more}
        self.watcher = Watcher(folder, simulator.endpoint(vm), name=vm, reflex=given, **(settings or {}))

    def step(self, number, word, drain=None):
        line = 'echo "$2" >>"$1"'
        words = {half: ["sh", "-c", line, "sh", str(self.actions), f"{half} {word}"] for half in ("drain", "restore")}
        return {"number": number, "kind": "command", "arguments": {**words, **(drain or {})}}

    def gated_step(self, number, word):
        """Its drain begins with a file `begun`, and ends when there is a file `gate`."""
        line = 'touch "$1.begun"; while [ ! -e "$1.gate" ]; do sleep 0.05; done; echo "$2" >>"$1"'
        return self.step(number, word, {"drain": ["sh", "-c", line, "sh", str(self.actions), f"drain {word}"]})

    def wait_for_the_gate(self):
        wait_until(self.actions.with_name("actions.begun").exists, self.watcher.errors)

    def open_the_gate(self):
        self.actions.with_name("actions.gate").touch()

    def done(self):
        return self.actions.read_text().splitlines() if self.actions.exists() else []

    def journal(self):
        try:
            return json.loads(self.watcher.journal.read_text())
        except FileNotFoundError:
            return None

    def stop(self):
        if self.watcher.process:
            self.watcher.kill()
        self.kill_reflexes()

    def kill_reflexes(self):
        for pid in self.watcher.reflex_pids():
            os.kill(pid, signal.SIGKILL)

    def leave_a_mark(self, seconds):
        """The mark of a run that counts for so long, or that ended so long ago."""
        mark = self.watcher.folder / "run.json"
        mark.write_text(json.dumps({"run_id": "r", "until": time.time() + seconds}))
        return mark

    def change_settings(self, **changes):
        path = self.watcher.folder / "reflex_settings.json"
        new = path.with_name("new")
        new.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        new.rename(path)


@pytest.fixture
def probe(tmp_path, simulator):
    """What makes the steps of the host of the test, before that is started."""
    made = Host(tmp_path / "x", simulator, "web-0")
    made.actions = tmp_path / "web-0" / "actions"
    return made


@pytest.fixture
def host(tmp_path, simulator):
    """A function that starts a host; all end with the test."""
    running = []

    def start(vm="web-0", settled=True, watched=True, **more):
        one = Host(tmp_path / vm, simulator, vm, **more)
        if settled:
            # As one that has watched for a while: nothing can have gone unseen.
            memory = {"incarnation": simulator.document(vm)["DocumentIncarnation"], "generation": 1, "seen": {}}
            one.watcher.journal.with_name("reflex_memory.json").write_text(
                json.dumps({"sightings": {**memory, "others_gone_at": None}, "gone": None})
            )
            one.watcher.journal.with_name("reflex_memory.json").chmod(0o600)
        if watched:
            one.watcher.start()
        running.append(one)
        return one

    yield start
    for one in running:
        one.stop()


def test_a_single_vm_is_taken_through_its_maintenance_by_itself(simulator, host):
    web = host()
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900, dwell=3600)
    simulator.wait_for("A1", "Started", PATIENCE)
    assert web.done() == ["drain a", "drain b"]
    web.watcher.wait_for(lambda status: status["watcher"]["drained"])
    wait_until(lambda: "approval confirmed" in [entry["what"] for entry in web.watcher.record()])
    simulator.finish("A1")
    wait_until(lambda: len(web.done()) == 4)
    assert web.done() == ["drain a", "drain b", "restore b", "restore a"]
    wait_until(lambda: web.journal() is None)
    wait_until(lambda: not web.watcher.reflex_pids())
    web.watcher.wait_for(lambda status: not status["watcher"]["drained"])
    assert [line["approved"] for line in simulator.log() if line["method"] == "POST"] == [["A1"]]
    record = [entry["what"] for entry in web.watcher.record()]
    assert [what for what in record if not what.startswith("step")] == [
        "drain begins",
        "drained",
        "approval begins",
        "approved",
        "approval confirmed",
        "returned to service",
    ]
    sent, confirmed = (
        next(line for line in web.watcher.record() if line["what"] == what)
        for what in ("approval begins", "approval confirmed")
    )
    assert (confirmed["event"], confirmed["shown"]) == ("A1", "Started")
    assert confirmed["incarnation"] > sent["incarnation"]
    # It is marked, then told.
    assert confirmed["sent_at"] <= sent["at"] <= confirmed["seen_at"] <= confirmed["at"]
    assert web.watcher.audit_file.stat().st_mode & 0o777 == 0o600
    assert {entry["by"] for entry in web.watcher.record()} == {"watcher of web-0"}
    # Also of the return to service, which is no longer for the document with the event.
    seen = [entry["incarnation"] for entry in web.watcher.record()]
    assert seen == sorted(seen)
    assert seen[-1] > confirmed["incarnation"]


def test_an_approval_is_for_the_version_that_was_found(tmp_path):
    vms = [{"name": "web-0"}]
    with Simulator({"vms": vms}, requests_per_second=0, api_versions=["2017-03-01"], impact=False) as simulator:
        web = Host(tmp_path, simulator, "web-0", settings={"api_version": "auto"})
        web.watcher.start()
        try:
            web.watcher.wait_for(lambda status: status["this_host"])
            simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
            simulator.wait_for("A1", "Started", PATIENCE)
        finally:
            web.stop()
        log = simulator.log()
    (sent,) = (line for line in log if line["method"] == "POST")
    # In that version an approval says which document it is about.
    assert json.loads(sent["body"])["DocumentIncarnation"] > 0
    # Six were refused to the watcher and to the reflexes each, and none to look for a version once more.
    assert sum(line["status"] == 400 for line in log if line["path"].endswith("scheduledevents")) == 12


def test_two_hosts_never_go_down_at_once_and_nothing_is_approved_beside_another_event(simulator, host):
    first, second = host("web-0"), host("web-1")
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=9000, dwell=9000)
    wait_until(lambda: len(first.done()) == 2)
    simulator.wait_for("A1", "Started", PATIENCE)
    simulator.add_event(id="B1", type="Reboot", resources=["web-1"], notice=6000)
    second.watcher.let_reflexes_look()
    assert second.done() == []
    assert simulator.event("B1")["status"] == "Scheduled"


def test_what_is_taken_away_is_drained_at_once_and_not_returned_in_the_same_boot(simulator, host):
    web = host(reflex=[{"type": "Preempt", "action": "drain"}])
    web.leave_a_mark(90)
    simulator.add_event(id="B1", type="Reboot", resources=["web-1"], notice=900)
    simulator.add_event(id="P1", type="Preempt", resources=["web-0"], notice=900)
    wait_until(lambda: len(web.done()) == 2)
    simulator.cancel("P1")
    web.watcher.let_reflexes_look()
    assert web.done() == ["drain a", "drain b"]


def test_it_stops_before_what_others_must_do_and_says_so(simulator, host, probe):
    steps = [
        probe.step(1, "a"),
        {"number": 2, "kind": "load_balancer", "left": "step 2 (load_balancer) is done on lb1"},
        probe.step(3, "c"),
    ]
    web = host(steps=steps)
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    status = web.watcher.wait_for(lambda status: status["watcher"]["left_for_a_run"])
    assert status["watcher"]["left_for_a_run"] == [
        "step 2 (load_balancer) is done on lb1",
        "step 3 (command) comes after it",
    ]
    assert web.done() == ["drain a"]
    assert web.journal()["state"] == "draining"
    assert simulator.event("A1")["status"] == "Scheduled"


def test_what_of_the_event_is_filled_in_is_a_word_of_its_own(simulator, host, tmp_path):
    actions = tmp_path / "web-0" / "actions"
    kind = MARK % "type"
    words = ["sh", "-c", 'echo "$2" >>"$1"', "sh", str(actions), kind]
    web = host(steps=[{"number": 1, "kind": "command", "arguments": {"drain": words}}], reflex=[{"action": "drain"}])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    wait_until(web.done)
    assert web.done() == ["Reboot"]


def test_killed_in_a_step_it_goes_on_and_does_nothing_twice_that_was_done(simulator, host, probe):
    web = host(steps=[probe.step(1, "a"), probe.gated_step(2, "slow"), probe.step(3, "c")])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900, dwell=3600)
    web.wait_for_the_gate()
    assert web.done() == ["drain a"]
    (pid,) = web.watcher.reflex_pids()
    os.kill(pid, signal.SIGKILL)
    web.watcher.kill()
    web.watcher.start()
    web.open_the_gate()
    simulator.wait_for("A1", "Started", PATIENCE)
    simulator.finish("A1")
    wait_until(lambda: web.journal() is None)
    done = web.done()
    assert done.count("drain a") == 1
    assert done.count("drain c") == 1
    assert done[-3:] == ["restore c", "restore slow", "restore a"]


def test_a_step_that_fails_keeps_the_event_from_being_approved_and_is_tried_again(simulator, host, tmp_path):
    gate = tmp_path / "gate"
    step = {"number": 1, "kind": "command", "arguments": {"drain": ["test", "-e", str(gate)]}}
    web = host(steps=[step])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    wait_until(lambda: any(entry["what"] == "step failed" for entry in web.watcher.record()))
    assert simulator.event("A1")["status"] == "Scheduled"
    gate.touch()
    # Not for the time that it would take by itself: the watcher says that there is news.
    web.watcher.let_reflexes_look()
    simulator.wait_for("A1", "Started", PATIENCE)


def test_reflexes_that_were_killed_alone_are_started_again(simulator, host, probe):
    steps = [probe.step(1, "a"), probe.gated_step(2, "slow")]
    web = host(steps=steps, reflex=[{"action": "drain"}], watched=False)
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    # The watcher's part, with a clock that goes as the test wants.
    now = [0.0]
    starter = ReflexStarter(json.loads(web.watcher.config.read_text()), str(web.watcher.program), clock=lambda: now[0])
    starter.go_on(is_new=True, is_pending=True)
    web.wait_for_the_gate()
    web.kill_reflexes()
    wait_until(lambda: not web.watcher.reflex_pids())
    now[0] = SECONDS_BETWEEN_REMINDERS - 0.1
    starter.go_on(is_new=False, is_pending=True)
    assert web.watcher.reflex_pids() == []
    now[0] = SECONDS_BETWEEN_REMINDERS

    def reminded():
        # As after each reading: one that was killed a moment ago may not have come to its end yet.
        starter.go_on(is_new=False, is_pending=True)
        return web.watcher.reflex_pids()

    wait_until(reminded)
    web.open_the_gate()
    wait_until(lambda: (web.journal() or {}).get("state") == "drained")
    assert web.done().count("drain a") == 1


def test_a_run_that_comes_in_the_middle_of_a_drain_takes_over_between_two_steps(simulator, host, probe):
    web = host(steps=[probe.gated_step(1, "slow"), probe.step(2, "b")])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    web.wait_for_the_gate()
    web.leave_a_mark(90)
    journal = JournalFile(str(web.watcher.journal))
    taken = []
    run = threading.Thread(
        target=lambda: taken.append(OwnedJournal(journal, "r").take(lambda data: dict(data, run_id="r")))
    )
    run.start()
    web.open_the_gate()
    run.join(PATIENCE)
    assert [(step["number"], step["status"]) for step in taken[0]["steps"]] == [(1, "done")]
    web.watcher.let_reflexes_look()
    assert web.done() == ["drain slow"]
    assert web.journal()["run_id"] == "r"


def a_runs_journal(web, *steps, digest=DIGEST, events=({"id": "A1", "type": "Reboot"},)):
    """As a run leaves it that took over what reflexes had begun and never came back, its event being over."""
    journal = JournalFile(str(web.watcher.journal))
    journal.change(lambda data: begun(data, list(events), "r", boot_id(), utc_now()))
    journal.change(lambda data: recorded(data, [{**step, "status": "done"} for step in steps], utc_now()))
    journal.change(lambda data: {**all_drained(data, utc_now()), "steps_digest": digest})


def test_what_a_run_left_is_taken_back_after_five_minutes(simulator, host, tmp_path):
    web = host(steps_digest=DIGEST)
    web.watcher.wait_for(lambda status: status["this_host"])
    balancer = {"haproxy": {"backend": "b", "server": "s", "host": "lb1"}}
    a_runs_journal(
        web, web.step(1, "a"), {"number": 2, "kind": "load_balancer", "arguments": balancer}, web.step(3, "c")
    )
    web.leave_a_mark(-200)
    web.watcher.let_reflexes_look()
    assert web.done() == []
    web.leave_a_mark(-SECONDS_OVER - 1)
    web.watcher.let_reflexes_look()
    status = web.watcher.wait_for(lambda status: status["watcher"]["left_for_a_run"])
    assert status["watcher"]["left_for_a_run"] == ["step 2 (load_balancer) is to be undone"]
    assert web.done() == ["restore c", "restore a"]
    assert web.journal()["run_id"] == "watcher of web-0"
    web.watcher.let_reflexes_look()
    web.watcher.let_reflexes_look()
    assert [entry["what"] for entry in web.watcher.record()].count("returned to service in part") == 1
    # What is left for a run does not keep the host from leaving again.
    simulator.add_event(id="B1", type="Preempt", resources=["web-0"], notice=900)
    wait_until(lambda: web.done()[2:] == ["drain a", "drain b"])
    # Nor is one step taken for another that has its number.
    wait_until(lambda: web.journal().get("own_steps_done"))
    kinds = [(step["number"], step["kind"], step["status"]) for step in web.journal()["steps"]]
    assert kinds == [(1, "command", "done"), (2, "load_balancer", "started"), (3, "command", "done")]


BALANCER = {"kind": "load_balancer", "left": "step 3 (load_balancer) is done on lb1", "number": 3}
AWAY = [{"type": ["Preempt", "Terminate"], "action": "drain", "past_others": True}, {"action": "drain"}]


@pytest.mark.parametrize("kind", ["Preempt", "Reboot"])
def test_killed_in_a_drain_with_something_for_others_it_goes_on(simulator, host, probe, kind):
    web = host(steps=[probe.step(1, "a"), probe.gated_step(2, "slow"), BALANCER, probe.step(4, "d")], reflex=AWAY)
    simulator.add_event(id="A1", type=kind, resources=["web-0"], notice=900)
    web.wait_for_the_gate()
    web.kill_reflexes()
    web.open_the_gate()
    wait_until(lambda: (web.journal() or {}).get("own_steps_done"))
    assert web.done().count("drain a") == 1
    assert web.done()[-1] == ("drain d" if kind == "Preempt" else "drain slow")
    done = len(web.done())
    web.watcher.let_reflexes_look()
    assert len(web.done()) == done


def test_a_run_that_came_and_left_again_leaves_nothing_half_done(simulator, host, probe):
    web = host(steps=[probe.gated_step(1, "slow"), probe.step(2, "b"), BALANCER], reflex=AWAY)
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    web.wait_for_the_gate()
    mark = web.leave_a_mark(90)
    web.open_the_gate()
    web.watcher.let_reflexes_look()
    assert web.done() == ["drain slow"]
    mark.unlink()
    web.watcher.let_reflexes_look()
    wait_until(lambda: web.done() == ["drain slow", "drain b"])


def test_new_settings_count_at_once(simulator, host, probe):
    """The reflexes are at work, in a drain that they were to approve, when the user takes that back."""
    web = host(steps=[probe.gated_step(1, "slow")])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    web.wait_for_the_gate()
    web.change_settings(reflex=[{"action": "tell"}])
    web.open_the_gate()
    wait_until(lambda: (web.journal() or {}).get("state") == "drained")
    web.watcher.let_reflexes_look()
    assert simulator.event("A1")["status"] == "Scheduled"
    simulator.cancel("A1")
    wait_until(lambda: web.journal() is None)
    assert web.done() == ["drain slow", "restore slow"]


def test_what_an_earlier_list_has_left_is_undone_first(simulator, host, probe, tmp_path):
    """By today's step of the same kind in the same place, and else as it was done."""
    blocked = {"number": 3, "kind": "command", "arguments": {"drain": ["test", "-e", str(tmp_path / "gate")]}}
    old, new = [probe.step(1, "a"), probe.step(2, "b"), blocked], [probe.step(1, "x")]
    web = host(steps=old, steps_digest=digest_of_steps(old), reflex=[{"action": "drain"}])
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    wait_until(lambda: any(entry["what"] == "step failed" for entry in web.watcher.record()))
    web.watcher.kill()
    web.kill_reflexes()
    web.change_settings(steps=new, steps_digest=digest_of_steps(new))
    web.watcher.start()
    wait_until(lambda: (web.journal() or {}).get("state") == "drained")
    assert web.done() == ["drain a", "drain b", "restore b", "restore x", "drain x"]
