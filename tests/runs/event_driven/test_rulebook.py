# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a notice to a run, by the real ansible-rulebook: nobody starts anything."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
import yaml
from helpers import ROOT
from helpers.event_source import Watchers, event, status
from helpers.fleet import RunFleet
from helpers.host_services import listener
from helpers.rulebook import Rulebook, RulebookController, what_is_missing
from helpers.waiting import wait_until
from helpers.watcher_process import Watcher

__all__ = ["listener"]
MISSING = what_is_missing()
pytestmark = [pytest.mark.once, pytest.mark.rest, pytest.mark.skipif(MISSING is not None, reason=str(MISSING))]
QUICK_POLLS = {"EDA_JOB_TEMPLATE_REFRESH_DELAY": "0.5"}
RULEBOOKS = ROOT / "extensions" / "eda" / "rulebooks"


@contextlib.contextmanager
def watched(fleet, port, hosts, secret="s"):
    """A real watcher for each of these hosts of a fleet."""
    with contextlib.ExitStack() as stack:
        watchers = {}
        for host in hosts:
            folder = fleet.folder / f"watch-{host}"
            watchers[host] = stack.enter_context(
                Watcher(
                    folder,
                    fleet.simulator.endpoint(host),
                    name=host,
                    # As it is by default: more of it would leave hardly a request a second for the runs.
                    interval=1,
                    journal=str(fleet.journal(host)),
                    heartbeat=2,
                    notify=[{"url": f"http://127.0.0.1:{port}/", "secret": secret}],
                )
            )
        yield watchers


def with_marks(fleet, hosts):
    """Where a run leaves its mark for the watcher; and a lease that a test can wait for."""
    for host in hosts:
        fleet.host_vars[host]["__maintenance_lease_seconds"] = 20
        (fleet.folder / f"watch-{host}").mkdir(exist_ok=True)
        fleet.host_vars[host]["watch_status_file"] = str(fleet.folder / f"watch-{host}" / "status.json")


def all_over(fleet):
    states = {one["status"] for one in fleet.simulator.events()}
    return states <= {"Finished"} and states and not fleet.drained_hosts()


def test_an_event_of_a_watched_and_an_unwatched_host_goes_through(tmp_path):
    with RunFleet(tmp_path, hosts=3, domains=2) as fleet:
        with_marks(fleet, ["web-0"])
        with (
            Rulebook(tmp_path, fleet.inventory(), {"maintenance_secret": "s"}) as rulebook,
            watched(fleet, rulebook.port, ["web-0"]),
        ):
            rulebook.wait_until_it_listens()
            # web-0 and web-2, of which nobody watches web-2.
            fleet.event_of_domain("0")
            rulebook.wait_for(lambda: all_over(fleet))
        assert fleet.approvals() == ["E0"]
        assert [fleet.count("drain", host) for host in ("web-0", "web-1", "web-2")] == [1, 0, 1]
        fleet.assert_nothing_approved_before_its_hosts_were_drained()
        fleet.assert_restored_only_after_the_end()


def test_groups_go_side_by_side(tmp_path):
    """The run of one group is at a step that takes its time; that of the other, on all hosts too, is done meanwhile."""
    with RunFleet(tmp_path, hosts=2, domains=2, single_vms=True) as fleet:
        with_marks(fleet, fleet.domain_of)
        for host in fleet.domain_of:
            fleet.host_vars[host]["maintenance_delivery_group"] = f"set-of-{host}"
        go_on = tmp_path / "go-on"
        wait = ["sh", "-c", f"for look in $(seq 1000); do test -e {go_on} && break; sleep 0.2; done"]
        fleet.host_vars["web-0"]["drain_steps"] = [fleet.noted_step("web-0"), {"command": {"drain": wait}}]
        with (
            Rulebook(tmp_path, fleet.inventory(), {"maintenance_secret": "s"}) as rulebook,
            watched(fleet, rulebook.port, fleet.domain_of),
        ):
            rulebook.wait_until_it_listens()
            fleet.simulator.add_event(id="A", type="Reboot", resources=["web-0"], notice=9000, dwell=1)
            rulebook.wait_for(lambda: fleet.count("drain", "web-0"))
            fleet.simulator.add_event(id="B", type="Reboot", resources=["web-1"], notice=9000, dwell=1)
            rulebook.wait_for(lambda: fleet.count("restore", "web-1"))
            assert fleet.approvals() == ["B"]
            assert fleet.count("restore", "web-0") == 0
            go_on.touch()
            rulebook.wait_for(lambda: all_over(fleet))
        assert sorted(fleet.approvals()) == ["A", "B"]
        assert [fleet.count("drain", host) for host in ("web-0", "web-1")] == [1, 1]
        fleet.assert_nothing_approved_before_its_hosts_were_drained()
        fleet.assert_restored_only_after_the_end()


@pytest.mark.parametrize("alone", [True, False])
def test_killed_in_mid_run_and_started_again(tmp_path, alone):
    """With its run, or without: then the run goes on, and the next finds out."""
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        with_marks(fleet, fleet.domain_of)
        given = {"maintenance_secret": "s", "maintenance_remind": 5, "maintenance_state_file": str(tmp_path / "kept")}
        with Rulebook(tmp_path, fleet.inventory(), given) as rulebook, watched(fleet, rulebook.port, fleet.domain_of):
            rulebook.wait_until_it_listens()
            fleet.event_of_domain("0", dwell=20)
            fleet.event_of_domain("1")
            rulebook.wait_for(lambda: fleet.count("drain", "web-0") + fleet.count("drain", "web-1"))
            if alone:
                rulebook.kill_it_alone()
            else:
                rulebook.kill()
            rulebook.start()
            rulebook.wait_for(lambda: all_over(fleet))
        assert sorted(fleet.approvals()) == ["E0", "E1"]
        fleet.assert_one_domain_at_a_time()
        fleet.assert_restored_only_after_the_end()


def test_a_run_that_fails_is_tried_again_and_told_and_so_is_a_watcher_that_is_silent(tmp_path, listener):
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet:
        broken = tmp_path / "broken"
        broken.touch()
        fleet.host_vars["web-0"]["drain_steps"] = [
            {"command": {"drain": ["sh", "-c", f"test ! -e {broken}"]}},
            fleet.noted_step("web-0"),
        ]
        given = {
            "maintenance_secret": "s",
            "maintenance_remind": 2,
            "maintenance_silent_after": 8,
            "maintenance_failure_webhook": listener.url,
        }
        with Rulebook(tmp_path, fleet.inventory(), given) as rulebook:
            rulebook.wait_until_it_listens()
            with watched(fleet, rulebook.port, ["web-0"]) as watchers:
                fleet.event_of_domain("0", notice=9000)
                rulebook.wait_for(lambda: any("left" in told for told in listener.bodies))
                rulebook.wait_for(lambda: any(told.get("told", {}).get("attempt") == 5 for told in listener.bodies))
                broken.unlink()
                rulebook.wait_for(lambda: all_over(fleet))
                watchers["web-0"].kill()
                rulebook.wait_for(
                    lambda: any(told.get("told", {}).get("state") == "silent" for told in listener.bodies)
                )
        assert fleet.approvals() == ["E0"]
    silent = next(told["told"] for told in listener.bodies if told.get("told", {}).get("state") == "silent")
    assert (silent["hosts"], silent["reason"]) == (["web-0"], "nothing heard")


def test_what_a_vm_says_is_no_template(tmp_path, listener):
    """Neither for ansible-rulebook nor for the playbook that gets the event as an extra variable."""
    proof = tmp_path / "proof"
    text = "{{ lookup('pipe', 'touch " + str(proof) + "') }}"
    with RunFleet(tmp_path, hosts=1, domains=1) as fleet:
        given = {
            "maintenance_secret": "s",
            "maintenance_remind": 1,
            "maintenance_silent_after": 60,
            "maintenance_failure_webhook": listener.url,
        }
        with Rulebook(tmp_path, fleet.inventory(), given) as rulebook:
            rulebook.wait_until_it_listens()
            said = event("{% raw %}" + text, (text,), description=text, source=text)
            assert Watchers(rulebook.port).tell("web-0", status(said, vm_name=text, scale_set=text)) == 204
            rulebook.wait_for(lambda: listener.bodies)
    assert not proof.exists()


def test_awx_gets_a_job_with_all_hosts_and_nothing_that_a_vm_said(tmp_path, listener):
    template = "Azure maintenance: drain then approve"
    with RulebookController(template) as controller, RunFleet(tmp_path, hosts=1, domains=1) as fleet:
        options = ("--controller-url", controller.url, "--controller-token", "t")
        book = "maintenance.azure.drain_then_approve_awx"
        given = {
            "maintenance_secret": "s",
            "maintenance_remind": 4,
            "maintenance_silent_after": 8,
            "maintenance_failure_webhook": listener.url,
        }
        with Rulebook(tmp_path, fleet.inventory(), given, book, options, **QUICK_POLLS) as rulebook:
            rulebook.wait_until_it_listens()
            watchers = Watchers(rulebook.port)
            assert watchers.tell("web-0", status(event("A", ("web-0", "vm-9")), vm_name="web-0", scale_set="a")) == 204
            rulebook.wait_for(lambda: controller.launched)
            assert watchers.tell("web-1", status(event("B", ("web-1",)), vm_name="web-1", scale_set="b")) == 204
            # Another group does not wait for it; the same group does.
            rulebook.wait_for(lambda: len(controller.launched) == 2)
            time.sleep(5)
            assert len(controller.launched) == 2
            # Of what a job does not come to its end with, and of a watcher that is silent, somebody hears meanwhile.
            rulebook.wait_for(lambda: any(told["told"]["state"] == "silent" for told in listener.bodies))
            rulebook.wait_for(lambda: any(told["told"]["attempt"] == 5 for told in listener.bodies))
            assert len(controller.launched) == 2
            controller.may_end.set()
            rulebook.wait_for(lambda: len(controller.launched) > 2)
    assert all(job == {"limit": "all", "extra_vars": {"maintenance_hosts": "all"}} for job in controller.launched)


def test_behind_an_event_stream_a_group_gets_one_job_for_all_its_notices(tmp_path):
    """With the payload as an event stream delivers it; the event stream itself takes the place of the source."""
    template = "Azure maintenance: drain then approve"

    def delivered(host, known, **identity):
        body, headers = Watchers(0).notice(host, known, 1)
        return {
            "payload": json.loads(body),
            "meta": {"endpoint": "maintenance", "headers": headers, "source": {"name": "stream", "type": "webhook"}},
        }

    pending = {"pending": True}
    (book,) = yaml.safe_load((RULEBOOKS / "drain_then_approve_event_stream.yml").read_text())
    assert list(book["sources"][0]) == ["name", "ansible.eda.webhook"]
    events = [
        delivered("web-0", None),
        delivered("web-0", {**status(vm_name="web-0", resource_group="rg", scale_set="a"), "pending": False}),
        *(
            delivered(host, {**status(event(), vm_name=host, resource_group="rg", scale_set=scale_set), **pending})
            for host, scale_set in (("web-0", "a"), ("web-1", "a"), ("db-0", None), ("db-1", None), ("web-0", "a"))
        ),
        # Instance metadata that could not be read.
        delivered("odd-0", {**status(event()), **pending}),
    ]
    book["sources"] = [{"eda.builtin.generic": {"payload": events, "event_delay": 0.2, "shutdown_after": 280}}]
    path = tmp_path / "book.yml"
    path.write_text(yaml.safe_dump([book]))
    with RulebookController(template) as controller, RunFleet(tmp_path, hosts=1, domains=1) as fleet:
        controller.may_end.set()
        options = ("--controller-url", controller.url, "--controller-token", "t")
        with Rulebook(tmp_path, fleet.inventory(), {}, str(path), options, **QUICK_POLLS) as rulebook:
            rulebook.wait_for(lambda: len(controller.launched) >= 3)
            wait_until(lambda: "Waiting for events" in rulebook.output)
            time.sleep(5)
    assert len(controller.launched) == 3
    assert all(job == {"limit": "all", "extra_vars": {"maintenance_hosts": "all"}} for job in controller.launched)
