# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A journal that root of a drained host wrote: it can say which of the user's steps were done, and no more."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from helpers.ansible_run import inventory, play, run
from helpers.fleet import RunFleet

RESTORE = {"ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}
DRAIN = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}


def journal_with(*steps):
    return {
        "version": 1,
        "state": "drained",
        "run_id": "r",
        "boot_id": None,
        "started_at": "2026-11-16T00:00:00Z",
        "drained_at": "2026-11-16T00:00:00Z",
        "events": [],
        "steps": [
            {"number": number, "kind": kind, "arguments": arguments, "before": before, "status": "done"}
            for number, (kind, arguments, before) in enumerate(steps, start=1)
        ],
    }


def lies(folder, listener_url):
    """Steps that the user never wrote, each of which would leave the trap, or would be received, if it was trusted."""
    trap = ["touch", str(folder / "trap")]
    nginx = {"upstream_file": str(folder / "upstream"), "server": "a", "test_command": trap, "reload_command": trap}
    (folder / "upstream").write_text("upstream web { server a down; }\n")
    (folder / "evil.yml").write_text(
        json.dumps([{"ansible.builtin.command": {"argv": trap}, "delegate_to": "localhost"}])
    )
    haproxy = {"backend": "web; disable server web/web1", "server": "web-0", "socket": str(folder / "admin.sock")}
    webhook = {"url": listener_url, "sent_from": "controller"}
    return {
        "nginx on the controller": (
            "load_balancer",
            {"nginx": {**nginx, "host": "localhost"}},
            {"statements": ["server a;"]},
        ),
        "nginx on another host": (
            "load_balancer",
            {"nginx": {**nginx, "host": "web-1"}},
            {"statements": ["server a;"]},
        ),
        "tasks": ("tasks", {"drain": "x.yml", "restore": str(folder / "evil.yml")}, {}),
        "webhook": ("log", {"message": "x", "restore_message": "x", "webhook": webhook}, {}),
        "haproxy": ("load_balancer", {"haproxy": {**haproxy, "host": "web-1"}}, {"state": "ready"}),
        "kubernetes": ("kubernetes", {"node": "n", "host": "localhost", "kubeconfig": "/nowhere"}, {"cordoned": False}),
        "unknown kind": ("../../../tmp", {"restore": trap}, {}),
        "bad command": ("command", {"restore": {"a": 1}}, {}),
    }


@pytest.mark.rest
def test_a_run_with_nothing_to_do_trusts_no_step_of_a_journal(tmp_path, listener):
    found = lies(tmp_path, listener.url)
    with RunFleet(tmp_path, hosts=2) as fleet:
        journal = fleet.journal("web-0")
        journal.write_text(json.dumps(journal_with(*found.values())))
        journal.chmod(0o600)
        told = fleet.run()
        assert not (tmp_path / "trap").exists(), told.output
        assert listener.bodies == []
        assert told.code != 0
        assert "All is well." not in told.output
        for number in range(1, len(found) + 1):
            assert f"step {number} (" in told.output
        assert fleet.drained_hosts() == ["web-0"]

        # What the message says makes an end of it, after a person has put things right.
        words = re.search(r"ansible web-0 -m maintenance.azure.drain_journal -a '[^']*'", _one_line(told)).group()
        run(tmp_path, [*shlex.split(words), "-i", str(fleet.inventory())]).ended()
        fleet.run().ended()
        assert fleet.drained_hosts() == []


def _one_line(told):
    failures = [
        line["result"]["msg"] for line in told.results if line["outcome"] == "failed" and line["host"] == "web-0"
    ]
    return " ".join(str(failures[0]).split())


@pytest.mark.rest
@pytest.mark.parametrize("what", ["nginx on this host", "command"])
def test_what_was_done_on_the_host_itself_is_undone_there(tmp_path, what):
    """For its own VM a host may say what it likes: it runs as the same user, on itself, and nowhere else."""
    mark = tmp_path / "mark"
    touch = ["touch", str(mark)]
    (tmp_path / "upstream").write_text("upstream web { server a down; }\n")
    nginx = {"upstream_file": str(tmp_path / "upstream"), "server": "a", "test_command": touch, "reload_command": touch}
    step = {
        "nginx on this host": ("load_balancer", {"nginx": nginx}, {"statements": ["server a;"]}),
        "command": ("command", {"restore": touch}, {"already_done": False}),
    }[what]
    (tmp_path / "journal.json").write_text(json.dumps(journal_with(step)))
    (tmp_path / "journal.json").chmod(0o600)
    hosts = inventory(tmp_path, {"web-0": {"drain_journal": f"{tmp_path}/journal.json", "maintenance_endpoint": ""}})
    play(tmp_path, hosts, RESTORE).ended()
    assert mark.exists()
    assert not (tmp_path / "journal.json").exists()


def balanced(folder, haproxy, **more):
    step = {"backend": "web", "server": "{{ inventory_hostname }}", "socket": haproxy.socket, "host": "lb1", **more}
    return [
        {"log": {"message": "{{ maintenance_event.type }} {{ maintenance_event.id }}"}},
        {"load_balancer": {"haproxy": step}},
        {
            "command": {
                "drain": ["touch", f"{folder}/{{{{ maintenance_event.id }}}}"],
                "restore": ["rm", f"{folder}/{{{{ maintenance_event.id }}}}"],
            }
        },
    ]


@pytest.fixture
def drained(tmp_path, haproxy):
    """web_0 is drained on the load balancer lb1, by steps that name the event."""
    event = {"id": "A1", "type": "Reboot", "status": "Scheduled", "resources": ["web_0"], "affects_this_host": True}
    status = {"this_host": None, "events": [event], "pending": True}

    def hosts(steps):
        own = {
            "drain_journal": f"{tmp_path}/web_0.json",
            "drain_records": f"{tmp_path}/records",
            "maintenance_endpoint": "",
        }
        return inventory(tmp_path, {"web_0": {"drain_steps": steps, **own}, "lb1": {}})

    play(
        tmp_path, hosts(balanced(tmp_path, haproxy)), DRAIN, hosts="web_0", vars={"maintenance_status": status}
    ).ended()
    assert haproxy.states()["web_0"] == "drain"
    assert (tmp_path / "A1").exists()
    return lambda steps: play(tmp_path, hosts(steps), RESTORE, hosts="web_0")


@pytest.mark.rest
def test_steps_that_name_the_event_are_undone_without_it(tmp_path, haproxy, drained):
    drained(balanced(tmp_path, haproxy)).ended()
    assert haproxy.states()["web_0"] == "ready"
    assert not (tmp_path / "A1").exists()
    assert list((tmp_path / "records").iterdir()) == []


@pytest.mark.rest
def test_steps_that_were_edited_are_known_again(tmp_path, haproxy, drained):
    steps = balanced(tmp_path, haproxy, timeout=30)
    steps[0]["log"]["message"] = "another message"
    drained([{"connections": {"ports": [1]}}, *reversed(steps)]).ended()
    assert haproxy.states()["web_0"] == "ready"


@pytest.mark.rest
def test_a_step_that_was_removed_is_told(tmp_path, haproxy, drained):
    told = drained(balanced(tmp_path, haproxy)[:1]).ended(2)
    assert "step 2 (load_balancer.haproxy web web_0 on lb1)" in told.output
    # What was done on the host itself is undone all the same.
    assert not (tmp_path / "A1").exists()
    assert haproxy.states()["web_0"] == "drain"

    drained(balanced(tmp_path, haproxy)).ended()
    assert haproxy.states()["web_0"] == "ready"


def test_the_load_balancer_is_trusted_about_itself(tmp_path, haproxy, drained):
    """The journal says that the server was in maintenance before; lb1 knows better."""
    path = tmp_path / "web_0.json"
    journal = json.loads(path.read_text())
    journal["steps"][1]["before"] = {"state": "maint", "up": False}
    path.write_text(json.dumps(journal))
    drained(balanced(tmp_path, haproxy)).ended()
    assert haproxy.states()["web_0"] == "ready"


@pytest.mark.rest
def test_a_record_names_whom_it_is_for(tmp_path, haproxy, drained):
    (record,) = (tmp_path / "records").iterdir()
    kept = json.loads(record.read_text())
    assert (kept["host"], kept["vm"], kept["events"], kept["type"]) == ("web_0", "web_0", ["A1"], "Reboot")
    assert kept["acts_on"] == {"kind": "load_balancer.haproxy", "backend": "web", "server": "web_0", "host": "lb1"}
    assert kept["before"]["state"] == "ready"
    assert record.stat().st_mode & 0o777 == 0o600
    record.write_text(json.dumps({**kept, "host": "web_9"}))
    told = drained(balanced(tmp_path, haproxy)).ended(2)
    assert "It was drained for the host web_9" in told.output
    assert haproxy.states()["web_0"] == "drain"


def test_a_journal_that_is_gone_leaves_no_entry_down(tmp_path, haproxy, drained):
    """The disk is lost, as after a Redeploy of a VM with an ephemeral one: the load balancer itself remembers."""
    (tmp_path / "web_0.json").unlink()
    drained(balanced(tmp_path, haproxy)).ended()
    assert haproxy.states()["web_0"] == "ready"
    assert list((tmp_path / "records").iterdir()) == []
    again = drained(balanced(tmp_path, haproxy)).ended()
    assert not [line for line in again.results if line["result"].get("changed")]
