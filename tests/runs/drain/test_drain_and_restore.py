# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drain and restore, by the roles, with what is real here: HAProxy, nginx, commands, files, sockets."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from helpers.ansible_run import environment, inventory, play
from helpers.waiting import wait_until

EVENT = {
    "id": "A1",
    "type": "Reboot",
    "status": "Scheduled",
    "source": "Platform",
    "resource_type": "VirtualMachine",
    "resources": ["web_0", "web_1"],
    "not_before": None,
    "seconds_left": None,
    "duration_seconds": -1,
    "description": "{{ 7 * 191 }} $(touch trap) ; touch trap",
    "affects_this_host": True,
}
# Read from a file, as text from outside: in an inventory it would be taken for a template of the user's.
READ = {
    "name": "Read",
    "ansible.builtin.set_fact": {"maintenance_status": "{{ lookup('file', 'status.json') | from_json }}"},
}
DRAIN = {"ansible.builtin.include_role": {"name": "maintenance.azure.drain"}}
RESTORE = {"ansible.builtin.include_role": {"name": "maintenance.azure.restore"}}
SHOW = {
    "name": "Show",
    "ansible.builtin.debug": {"msg": "{{ [drain_result | default({}), restore_result | default({})] }}"},
}
MINE = {
    "own_kinds/ring/look.yml": """
- name: Look
  ansible.builtin.stat: {path: "{{ drain_step.arguments.path }}"}
  register: ring_found
- name: Tell
  ansible.builtin.set_fact: {drain_before: {there: "{{ ring_found.stat.exists }}"}}
""",
    "own_kinds/ring/drain.yml": """
- name: Leave the ring
  ansible.builtin.copy:
    dest: "{{ drain_step.arguments.path }}"
    content: "{{ maintenance_event.type }}"
    mode: "0600"
""",
    "own_kinds/ring/restore.yml": """
- name: Join the ring
  ansible.builtin.file: {path: "{{ drain_step.arguments.path }}", state: absent}
  when: not drain_step.before.there
""",
    "own_kinds/ring/arguments.yml": "path: {type: path, required: true}\n",
    "mine.yml": """
- name: Mine
  ansible.builtin.copy: {dest: "{{ drain_journal }}.mine", content: "{{ maintenance_event.id }}", mode: "0600"}
""",
    "mine_back.yml": """
- name: Mine again
  ansible.builtin.file: {path: "{{ drain_journal }}.mine", state: absent}
""",
}


def write_files(folder):
    for name, text in MINE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("---" + text if text.startswith("\n") else text)


def status_with(*events):
    return {"this_host": None, "events": list(events), "pending": True}


def journal_of(folder, host, name="journal.json"):
    path = folder / host / name
    return json.loads(path.read_text()) if path.exists() else None


def fleet(folder, hosts, **more):
    own = {"drain_journal": str(folder) + "/{{ inventory_hostname }}/journal.json", "maintenance_endpoint": "", **more}
    if (folder / "own_kinds").exists():
        own["drain_steps_path"] = ["own_kinds"]
    return inventory(folder, {host: {**own, **variables} for host, variables in hosts.items()})


def on_path(units):
    return os.pathsep.join([str(units.folder), str(Path(sys.executable).parent), os.environ["PATH"]])


def counted(run, host, *tasks):
    mine = [line for line in run.results if line["host"] == host]
    return [line for line in mine if not tasks or line["task"].split(" : ")[-1] in tasks]


@pytest.mark.rest
def test_few_tasks_and_round_trips(tmp_path, units):
    """A drain is one task, and so is a restore, whatever the number of steps; only what needs tasks costs more."""
    units.set(web="active")
    steps = [
        {"log": {"message": "x"}},
        {"command": {"drain": "true", "restore": "true"}},
        {"services": {"names": ["web"]}},
    ]
    book = fleet(tmp_path, {f"h{number}": {} for number in range(3)}, drain_steps=steps)
    run = play(tmp_path, book, DRAIN, RESTORE, RESTORE, PATH=on_path(units)).ended()
    seen = [(line["task"].split(" : ")[-1], line["outcome"]) for line in counted(run, "h1")]
    of_roles = [line for line in seen if not line[0].startswith(("Validating", "maintenance.azure."))]
    assert of_roles == [
        ("Drain the host", "ok"),
        ("Drain by the steps that need tasks of their own", "skipped"),
        ("Return the host to service", "ok"),
        ("Return to service by the steps that need tasks of their own", "skipped"),
        ("Return the host to service", "ok"),
        ("Return to service by the steps that need tasks of their own", "skipped"),
    ]
    drained = run.of("maintenance.azure.drain : Drain the host", "h1")
    assert [step["status"] for step in drained["steps"]] == ["done", "done", "done"]
    assert drained["done"][:2] == ["logged: x", "ran true"]


def test_check_mode_touches_nothing(tmp_path, haproxy, nginx, units):
    write_files(tmp_path)
    units.set(web="active")
    probe = tmp_path / "healthy"
    probe.touch()
    steps = [
        {"log": {"message": "x", "webhook": {"url": "http://127.0.0.1:9/", "required": True}}},
        {"load_balancer": {"haproxy": {"backend": "web", "server": "web_0", "socket": haproxy.socket, "host": "lb1"}}},
        {"load_balancer": {"nginx": {"upstream_file": str(nginx.upstream), "server": "127.0.0.1:8001"}}},
        {"load_balancer": {"probe_file": {"path": str(probe), "wait": 60}}},
        {"ring": {"path": str(tmp_path / "ring")}},
        {"tasks": {"drain": "mine.yml"}},
        {"command": {"drain": f"touch {tmp_path}/ran"}},
        {"services": {"names": ["web"]}},
    ]
    upstream = nginx.upstream.read_text()
    book = fleet(tmp_path, {"web_0": {"drain_steps": steps}, "lb1": {}}, maintenance_status=status_with(EVENT))
    run = play(tmp_path, book, DRAIN, SHOW, RESTORE, hosts="web_0", arguments=("--check",), PATH=on_path(units)).ended()
    assert run.of("maintenance.azure.steps : Do the step on the host")["done"] == ["stopped web"]
    assert run.of("Show")["msg"][0]["state"] == "drained"
    assert (haproxy.states()["web_0"], units.calls(), nginx.upstream.read_text()) == ("ready", [], upstream)
    assert probe.exists()
    assert not (tmp_path / "ring").exists()
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "web_0").exists()


def soon(seconds):
    text = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    return status_with({**EVENT, "not_before": text})


@pytest.mark.rest
def test_clear_failures(tmp_path, haproxy, units):
    """One run, one host for each thing that can go wrong."""
    write_files(tmp_path)
    units.set(web="active", stubborn="reloading")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    client = socket.create_connection(("127.0.0.1", port))
    first = {"command": {"drain": "touch {{ drain_journal }}.first"}}

    def balancer(**more):
        return {"load_balancer": {"haproxy": {"backend": "web", "server": "web_0", "socket": haproxy.socket, **more}}}

    def ports(port):
        return {"connections": {"ports": [port], "timeout": 1}}

    nowhere = {"socket": "/nowhere.sock"}
    cases = {
        "kind": ([first, {"sevrices": {}}], "step 2: there is no kind sevrices. The kinds are checkpoint, command"),
        "own": ([{"ring": {"pth": "x"}}], "ring: .*there is no argument pth"),
        "no_file": ([{"tasks": {"drain": "nowhere.yml"}}], "there is no file .*nowhere.yml"),
        "no_socket": ([first, balancer(**nowhere)], "socket /nowhere.sock: there is no such socket"),
        "no_socket_there": (
            [first, balancer(**nowhere, host="lb1")],
            "step 2 .load_balancer. failed: Look at the load balancer: on lb1: .*no such socket",
        ),
        "no_right": ([balancer(socket=haproxy.socket + ".weak")], "needs `level admin`"),
        "no_backend": ([balancer(backend="nope")], "does not know the backend nope"),
        "no_server": ([balancer(server="nope")], "There is no server nope in HAProxy's backend web, only web_0, web_1"),
        "no_service": ([first, {"services": {"names": ["web", "nope"]}}], "There is no service nope"),
        "stubborn": ([{"services": {"names": ["stubborn"]}}], "systemctl stop stubborn ended with exit code 1"),
        "connections": ([ports(port)], "1 established connections on port .* are left after 1 s"),
        "exit_code": ([{"command": {"drain": ["sh", "-c", "echo sorry; exit 3"]}}], "sh ended with exit code 3: sorry"),
        "slow": ([{"command": {"drain": "sleep 60", "timeout": 1}}], "sleep did not end within 1 s and was killed"),
        "mine": ([first, {"ring": {"path": "/nowhere/ring"}}], "step 2 .ring. failed: Leave the ring: "),
        "full": ([first], "could not be written: .*drain_journal"),
        "late": ([first], "can't be drained in time: the event may start in"),
        "in_time": ([{"command": {"drain": "sleep 600"}}, first], "sleep did not end within|can't be drained in time"),
    }
    hosts = {name: {"drain_steps": steps} for name, (steps, _message) in cases.items()}
    hosts["full"]["drain_journal"] = "/proc/nowhere/journal.json"
    hosts["late"]["maintenance_status"] = soon(3)
    hosts["in_time"]["maintenance_status"] = soon(150)
    hosts["in_time"]["drain_timeout"] = 9
    book = fleet(tmp_path, {"lb1": {}, **hosts}, maintenance_status=status_with(EVENT))
    run = play(tmp_path, book, DRAIN, hosts="all:!lb1", arguments=("--forks", "20"), PATH=on_path(units)).ended(2)
    client.close()
    listening.close()
    for name, (_steps, message) in cases.items():
        failures = [line["result"] for line in run.results if line["host"] == name and line["outcome"] == "failed"]
        assert failures, f"{name} did not fail"
        assert_matches(message, failures[-1]["msg"], name)
    # What is wrong with the steps is found before anything is touched.
    for name in ("kind", "late", "full"):
        assert not (tmp_path / name).exists()
    for name in ("no_socket", "no_socket_there", "no_service", "mine"):
        journal = journal_of(tmp_path, name)
        assert journal["state"] == "draining"
        assert journal["steps"][0]["status"] == "done"
    for name in ("no_socket_there", "stubborn", "mine", "exit_code"):
        assert journal_of(tmp_path, name)["steps"][-1]["status"] == "failed"
    assert journal_of(tmp_path, "stubborn")["steps"][-1]["error"]
    assert haproxy.states()["web_0"] == "ready"
    assert units.states()["web"] == "active"


def assert_matches(pattern, text, name):
    with pytest.raises(ValueError, match=pattern):
        raise ValueError(text)
    assert name


def test_what_an_earlier_list_has_left(tmp_path):
    """One host for each way in which the list was corrected, and none of them needs to be forgotten."""

    def writes(word):
        return ["sh", "-c", f"echo {word} >> {tmp_path}/{{{{ inventory_hostname }}}}.log"]

    for word in ("leave", "join", "wait", "old"):
        task = {"name": word, "ansible.builtin.command": {"argv": writes(word)}}
        (tmp_path / f"{word}.yml").write_text(json.dumps([task]))
    good = {"command": {"drain": writes("leave"), "restore": writes("join")}}
    typo = {"command": {"drain": "/usr/local/bni/leave-ring", "restore": "/usr/local/bni/join-ring"}}
    no_way_back = {"command": {"drain": "true", "restore": "/usr/local/bni/join-ring"}}
    other = {"command": {"drain": writes("wait"), "restore": writes("go on")}}
    gone = {"tasks": {"drain": "nowhere.yml", "restore": "nowhere.yml"}}
    mine = {"tasks": {"drain": "leave.yml", "restore": "join.yml"}}
    fails = {"command": {"drain": "false"}}
    # The list that was begun, what became of its steps, today's list, and what is done by that.
    cases = {
        "typo": ([typo], ["failed"], [good], "leave join"),
        "begun": ([typo], ["started"], [good], "join leave join"),
        "no_way_back": ([no_way_back], ["done"], [good], "join leave join"),
        "another_list": (
            [other, good],
            ["done", "started"],
            [{"log": {"message": "x"}}, good],
            "join go on leave join",
        ),
        "tasks": ([gone], ["started"], [mine], "join leave join"),
        "after_tasks": ([mine, other], ["done", "done"], [good], "stays"),
        "nothing_to_undo": ([fails, other], ["failed"], [{"log": {"message": "x"}}, other], "wait go on"),
    }
    hosts = {}
    for name, (old, statuses, new, _log) in cases.items():
        hosts[name] = {"drain_steps": new}
        steps = []
        for number, (item, status) in enumerate(zip(old, statuses, strict=False), start=1):
            ((kind, arguments),) = json.loads(json.dumps(item).replace("{{ inventory_hostname }}", name)).items()
            steps.append({"number": number, "kind": kind, "arguments": arguments, "before": {}, "status": status})
        left = {
            "version": 1,
            "state": "draining",
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        }
        left.update(started_at="t", drained_at=None, events=[EVENT], run_id="r0", steps=steps)
        (tmp_path / name).mkdir(mode=0o700)
        (tmp_path / name / "journal.json").write_text(json.dumps(left))
        (tmp_path / name / "journal.json").chmod(0o600)
    # As the run itself leaves it.
    (tmp_path / "typo" / "journal.json").unlink()
    book = fleet(tmp_path, {**hosts, "typo": {"drain_steps": [typo]}}, maintenance_status=status_with(EVENT))
    run = play(tmp_path, book, DRAIN, hosts="typo")
    assert "/usr/local/bni/leave-ring can't be run" in run.output
    book = fleet(tmp_path, hosts, maintenance_status=status_with(EVENT))
    run = play(tmp_path, book, DRAIN, RESTORE)
    for name, (_old, _statuses, _new, words) in cases.items():
        if words != "stays":
            assert (tmp_path / f"{name}.log").read_text().split() == words.split(), (name, run.output)
            assert journal_of(tmp_path, name) is None, name
    assert "step 1 (tasks leave.yml) was done, and drain_steps have no such step" in run.output


# The controller is killed in the middle, and somebody runs again.

SHOW_INTERRUPTED = {"name": "Show", "ansible.builtin.debug": {"msg": "{{ restore_result }}"}}


def steps_of(folder):
    """Each step leaves a line in the log, and the second waits until it may go on."""
    log = folder / "log"
    wait = f"echo 2 >> {log}; touch {folder}/waiting; while [ ! -e {folder}/go ]; do sleep 0.1; done"
    return [
        {"command": {"drain": ["sh", "-c", f"echo 1 >> {log}"], "restore": ["sh", "-c", f"echo -1 >> {log}"]}},
        {"services": {"names": ["web", "idle"]}},
        {"command": {"drain": ["sh", "-c", wait], "restore": ["sh", "-c", f"echo -2 >> {log}"]}},
        {"command": {"drain": ["sh", "-c", f"echo 3 >> {log}"], "restore": ["sh", "-c", f"echo -3 >> {log}"]}},
    ]


def kill_the_controller(book):
    """With its workers, which have its command line, and without the host's half: a host outlives its controller.
    (By their group they can't be told apart: workers have one of their own in some versions of ansible-core only.)
    """
    for process in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if process.name.isdigit() and str(book).encode() in (process / "cmdline").read_bytes().split(b"\0"):
                os.kill(int(process.name), signal.SIGKILL)


@pytest.fixture
def killed(tmp_path, units):
    """A drain that was killed with SIGKILL while its third step ran."""
    units.set(web="active", idle="inactive")
    book = inventory(
        tmp_path, {"web_0": {"drain_journal": f"{tmp_path}/state/journal.json", "maintenance_endpoint": ""}}
    )
    path = os.pathsep.join([str(units.folder), environment(tmp_path)["PATH"]])
    (tmp_path / "killed.json").write_text(
        json.dumps(
            [{"hosts": "all", "gather_facts": False, "vars": {"drain_steps": steps_of(tmp_path)}, "tasks": [DRAIN]}]
        )
    )
    process = subprocess.Popen(
        ["ansible-playbook", "-i", str(book), "killed.json"],
        cwd=tmp_path,
        env=environment(tmp_path, PATH=path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: (tmp_path / "waiting").exists() or process.poll() is not None)
    assert process.poll() is None
    kill_the_controller(book)
    process.wait()

    def again(*tasks, **variables):
        return play(tmp_path, book, *tasks, vars={"drain_steps": steps_of(tmp_path), **variables}, PATH=path)

    return again


def journal(folder):
    path = folder / "state" / "journal.json"
    return json.loads(path.read_text()) if path.exists() else None


def log(folder):
    return (folder / "log").read_text().split()


def go_when_somebody_waits(folder):
    """The command that was running lives on, as it would on a host whose controller is gone. Whoever comes next waits
    for the end of its step, and that ends when somebody does.
    """
    lock = folder / "state" / "journal.json.step"

    def has_it_open(process):
        with contextlib.suppress(OSError):
            return any(one.readlink() == lock for one in (process / "fd").iterdir())
        return False

    def somebody_waits():
        return sum(has_it_open(process) for process in Path("/proc").iterdir() if process.name.isdigit()) > 1

    wait_until(somebody_waits)
    (folder / "go").touch()


def test_restore_undoes_what_was_done_and_begun(tmp_path, killed, units):
    assert [step["status"] for step in journal(tmp_path)["steps"]] == ["done", "done", "started"]
    assert units.states()["web"] == "inactive"
    # Meanwhile the host was rebooted, and systemd started what it starts.
    units.set(web="active", idle="inactive")
    state = journal(tmp_path)
    (tmp_path / "state" / "journal.json").write_text(json.dumps({**state, "boot_id": "another"}))
    threading.Thread(target=go_when_somebody_waits, args=(tmp_path,), daemon=True).start()
    run = killed(RESTORE, SHOW_INTERRUPTED, RESTORE).ended()
    assert journal(tmp_path) is None
    # Between two steps either of them may be the first.
    assert log(tmp_path) in (["1", "2", "-2", "-1"], ["1", "2", "3", "-3", "-2", "-1"])
    assert units.states() == {"web": "active", "idle": "inactive"}
    assert run.of("Show")["msg"]["state"] == "restored"
