# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role watch without a service to manage, as there is no systemd: install, upgrade, remove; and its guide."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import JournalFile, begun
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import VERSION
from helpers import ROOT
from helpers.ansible_run import inventory, play, run
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import reflex_pids

pytestmark = [
    pytest.mark.rest,
    pytest.mark.skipif(os.geteuid() != 0, reason="the role gives its files to root, so it needs root"),
]

SECRET = "a secret that nobody may see"


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web-0"}]}) as fleet:
        yield fleet


@pytest.fixture
def role(tmp_path, simulator):
    """A function that runs the role in folders of the test, and tells which tasks changed something."""
    variables = {
        "watch_manage_service": False,
        "watch_dir": str(tmp_path / "lib" / "program"),
        "watch_config": str(tmp_path / "etc" / "watch.json"),
        "watch_status_file": str(tmp_path / "status.json"),
        "drain_journal": str(tmp_path / "var" / "journal.json"),
        "watch_interval": 0.5,
        "watch_user": "root",
        "watch_python": sys.executable,
        "maintenance_endpoint": simulator.endpoint("web-0"),
        "watch_audit_file": str(tmp_path / "log" / "audit.jsonl"),
        "__watch_runtime_dir": str(tmp_path / "run"),
        "__watch_unit_file": str(tmp_path / "watch.service"),
        "__watch_reflex_unit_file": str(tmp_path / "reflex.service"),
        "__watch_reflex_path_file": str(tmp_path / "reflex.path"),
        "__watch_logrotate_file": str(tmp_path / "logrotate"),
    }

    def run(*arguments, tasks_from="main", code=0, path=None, **more):
        surroundings = {"ANSIBLE_PIPELINING": "1", **({"PATH": path} if path else {})}
        hosts = inventory(tmp_path, {"web": {}})
        (tmp_path / "variables.json").write_text(json.dumps({**variables, **more}))
        task = {
            "name": "Watch",
            "ansible.builtin.include_role": {"name": "maintenance.azure.watch", "tasks_from": tasks_from},
        }
        words = ("-e", f"@{tmp_path / 'variables.json'}", *arguments)
        ended = play(tmp_path, hosts, task, arguments=words, **surroundings).ended(code)
        run.output = ended.output
        return [line["task"] for line in ended.results if line["result"].get("changed")]

    run.folder = tmp_path
    return run


def test_install_run_by_hand_and_remove(role):
    assert role("--check", "--diff")
    assert not (role.folder / "lib").exists()
    assert role()
    assert role() == []

    program, status = role.folder / "lib" / "program" / "watch", role.folder / "status.json"
    assert list((role.folder / "lib").rglob("*.pyc")), "it is compiled, as the watcher may not write there"
    assert (role.folder / "var").stat().st_mode & 0o777 == 0o711
    assert (role.folder / "log").stat().st_mode & 0o777 == 0o700
    assert (role.folder / "logrotate").exists()
    with subprocess.Popen([program, "--config", role.folder / "etc" / "watch.json"]) as process:
        try:
            wait_until(status.exists)
            assert json.loads(status.read_text())["this_host"]["vm_name"] == "web-0"
        finally:
            process.terminate()

    # What the reflexes leave, what a run leaves, and what a run still needs.
    for name in ("reflex", "reflexes.json", "run.json", "azure_maintenance.prom"):
        (role.folder / name).touch()
    for name in ("reflex_memory.json", "reflex.lock", "run.lock"):
        (role.folder / "var" / name).touch()
    assert role(watch_state="absent")
    assert not program.parent.exists()
    assert not (role.folder / "logrotate").exists()
    left = {str(path.relative_to(role.folder)) for path in role.folder.rglob("*")}
    ours = {path for path in left if path.split("/")[0] in ("lib", "etc", "var", "log", "run", "status.json")}
    assert ours == {"lib", "var", "var/run.lock"}
    assert not left & {"reflex", "reflexes.json", "run.json", "azure_maintenance.prom"}
    assert role(watch_state="absent") == []


def test_secrets_are_neither_shown_nor_readable(role):
    notify = [{"url": "https://eda.example.com:5010/", "secret": SECRET, "headers": {"Authorization": SECRET}}]
    role("-vvv", "--diff", watch_notify=notify)
    assert SECRET not in role.output
    config = role.folder / "etc" / "watch.json"
    assert json.loads(config.read_text())["notify"][0]["secret"] == SECRET
    assert config.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"watch_interval": 0.1}, "the service allows 5 requests a second"),
        ({"maintenance_endpoint": "https://169.254.169.254"}, "speaks plain http only"),
        ({"watch_status_file": "status.json"}, "must be an absolute path"),
        ({"watch_manage_service": True}, "watch_user must not be root"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_done(role, variables, said):
    role(code=2, **variables)
    assert said in re.sub(r"\s+", " ", role.output)
    assert not (role.folder / "etc").exists()


def test_a_host_that_drains_itself_until_it_is_removed(role, simulator):
    """Installed with reflexes, drained, not removed like that, returned to service and removed."""
    actions = role.folder / "actions"
    write = ["sh", "-c", 'echo "$2" >>"$1"', "sh", str(actions)]
    steps = [
        {"log": {"message": "draining for {{ maintenance_event.type }}"}},
        {"command": {"drain": [*write, "{{ maintenance_event.type }}"], "restore": [*write, "back"]}},
        {"load_balancer": {"haproxy": {"backend": "b", "server": "s", "host": "lb1"}}},
    ]
    more = {"watch_reflex": [{"action": "drain"}], "drain_steps": steps}
    role(**more)
    assert role(**more) == []
    config = role.folder / "etc" / "reflex.json"
    assert config.stat().st_mode & 0o777 == 0o600
    assert [step.get("left") for step in json.loads(config.read_text())["steps"]] == [
        None,
        None,
        "step 3 (load_balancer) is done on lb1",
    ]
    program = role.folder / "lib" / "program" / "watch"
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=9000)
    with subprocess.Popen([program, "--config", role.folder / "etc" / "watch.json"]) as process:
        try:
            # A host that has only just begun to watch can't know what went before.
            wait_until(actions.exists)
            wait_until(lambda: json.loads((role.folder / "status.json").read_text())["watcher"]["drained"])
            assert actions.read_text().splitlines() == ["Reboot"]
            status = json.loads((role.folder / "status.json").read_text())
            role(code=2, watch_state="absent")
            assert "set watch_return_to_service to true" in re.sub(r"\s+", " ", role.output)
            role(code=2, watch_reflex=[])
        finally:
            process.terminate()
            for pid in reflex_pids(config):
                os.kill(pid, signal.SIGKILL)
    assert status["watcher"]["drained"]
    assert role(watch_state="absent", watch_return_to_service=True)
    assert actions.read_text().splitlines() == ["Reboot", "back"]
    assert not program.exists()
    simulator.cancel("A1")


SYSTEMCTL = """#!/bin/sh
# Stands in for systemd: it has one more reflex that begins to drain while it is being stopped.
case "$1" in
show) printf 'LoadState=loaded\\nActiveState=%s\\n' "$(cat {folder}/active)" ;;
is-enabled) echo enabled ;;
stop) echo "$*" >>{folder}/asked; echo inactive >{folder}/active; cp -p {folder}/drained.json {journal} ;;
start) echo "$*" >>{folder}/asked; echo active >{folder}/active ;;
*) echo "$*" >>{folder}/asked ;;
esac
"""


@pytest.fixture
def drains_meanwhile(role):
    """Installed with reflexes that begin to drain at the last moment. Gives the PATH, and what systemd was asked."""
    role(watch_reflex=[{"action": "drain"}], drain_steps=[{"command": {"drain": ["true"]}}])
    (role.folder / "reflex.path").touch()
    tools, journal = role.folder / "tools", role.folder / "var" / "journal.json"
    tools.mkdir()
    kept = JournalFile(str(role.folder / "drained.json"))
    kept.change(lambda data: begun(data, [{"id": "A1"}], "watcher of web", "b", "2026-11-17T00:00:00Z"))
    (tools / "active").write_text("active\n")
    (role.folder / "drained.json").rename(tools / "drained.json")
    (tools / "systemctl").write_text(SYSTEMCTL.format(folder=tools, journal=journal))
    (tools / "systemctl").chmod(0o755)
    python = Path(sys.executable).parent
    return f"{tools}:{python}:{os.environ['PATH']}", lambda: (tools / "asked").read_text().splitlines()


@pytest.mark.parametrize("more", [{"watch_state": "absent"}, {"watch_reflex": []}], ids=["absent", "no reflexes"])
def test_a_drain_that_begins_while_the_reflexes_are_stopped_is_seen(role, drains_meanwhile, more):
    path, asked = drains_meanwhile
    role(code=2, path=path, **more)
    assert "set watch_return_to_service to true" in re.sub(r"\s+", " ", role.output)
    # It goes on as before.
    assert asked()[0] == "stop azure-maintenance-reflex.path"
    assert asked()[-1] == "start azure-maintenance-reflex.path"
    assert (role.folder / "etc" / "reflex.json").exists()
    assert (role.folder / "reflex.path").exists()


@pytest.mark.parametrize("reflex", [[], [{"action": "drain"}]], ids=["no reflexes", "reflexes as before"])
def test_a_host_that_is_drained_by_the_journal_of_before_is_not_left_behind(role, reflex):
    steps = {"drain_steps": [{"command": {"drain": ["true"]}}]}
    role(watch_reflex=[{"action": "drain"}], **steps)
    kept = JournalFile(str(role.folder / "var" / "journal.json"))
    kept.change(lambda data: begun(data, [{"id": "A1"}], "watcher of web", "b", "2026-11-17T00:00:00Z"))
    elsewhere = str(role.folder / "elsewhere" / "journal.json")
    role(code=2, watch_reflex=reflex, drain_journal=elsewhere, **steps)
    assert "set watch_return_to_service to true" in re.sub(r"\s+", " ", role.output)
    assert json.loads((role.folder / "etc" / "watch.json").read_text())["journal"] == kept.path


@pytest.fixture
def user():
    """The name of a user that there is not, and that there is not afterwards."""
    name = f"watch-test-{os.getpid()}"
    yield name
    subprocess.run(["userdel", name], check=False, capture_output=True)


def is_there(user):
    return subprocess.run(["id", user], check=False, capture_output=True).returncode == 0


@pytest.mark.skipif(not shutil.which("useradd"), reason="needs useradd")
def test_the_user_goes_if_it_is_one_of_ours(role, user):
    assert "Make the user of the watcher" in " ".join(role(watch_user=user))
    assert role(watch_user=user) == []
    assert is_there(user)
    role(watch_user=user, watch_state="absent")
    assert not is_there(user)


@pytest.mark.skipif(not shutil.which("useradd"), reason="needs useradd")
def test_a_user_that_was_there_before_stays_as_it_is(role, user):
    subprocess.run(["useradd", "--shell", "/bin/sh", user], check=True)
    role(watch_user=user)
    role(watch_user=user, watch_state="absent")
    about = subprocess.run(["getent", "passwd", user], check=True, capture_output=True, text=True).stdout
    assert about.strip().endswith(":/bin/sh")


def test_a_new_version_goes_on_where_the_old_one_was_in_the_middle_of_a_step(role, simulator):
    actions, gate = role.folder / "actions", role.folder / "gate"
    slow = 'echo "$2 begins" >>"$1"; while [ ! -e "$3" ]; do sleep 0.05; done; echo "$2" >>"$1"'
    write = ["sh", "-c", 'echo "$2" >>"$1"', "sh", str(actions)]
    waits = ["sh", "-c", slow, "sh", str(actions), "slow", str(gate)]
    steps = [
        {"command": {"drain": [*write, "a"], "restore": [*write, "back a"]}},
        {"command": {"drain": waits, "restore": [*write, "back slow"]}},
        {"command": {"drain": [*write, "c"], "restore": [*write, "back c"]}},
    ]
    more = {"watch_reflex": [{"action": "drain_and_approve"}], "drain_steps": steps}
    role(**more)
    program, config = role.folder / "lib" / "program", role.folder / "etc" / "watch.json"
    # What is installed is an older version, with parts of its own.
    version = next(program.rglob("_watcher/watch.py"))
    version.write_text(version.read_text().replace(VERSION, "0.0.1"))
    parts = json.loads((program / "program.json").read_text())
    (program / "program.json").write_text(json.dumps({**parts, "lib/gone.py": ""}))
    simulator.add_event(id="U1", type="Reboot", resources=["web-0"], notice=9000, dwell=9000)
    status = role.folder / "status.json"

    def told():
        return json.loads(status.read_text())["watcher"] if status.exists() else {"version": None}

    def lines():
        return actions.read_text().splitlines() if actions.exists() else []

    processes = [subprocess.Popen([program / "watch", "--config", config])]
    try:
        wait_until(lambda: "slow begins" in lines())
        assert told()["version"] == "0.0.1"
        # The role restarts the watcher; the reflexes, which are in the middle of a step, are not touched.
        changed = role(**{**more, "drain_steps": [*steps[:1], *steps[2:]]})
        assert any("Unpack the program" in task for task in changed)
        processes[0].terminate()
        processes[0].wait(PATIENCE)
        processes.append(subprocess.Popen([program / "watch", "--config", config]))
        wait_until(lambda: told()["version"] == VERSION)
        gate.touch()
        simulator.wait_for("U1", "Started", PATIENCE)
        simulator.finish("U1")
        wait_until(lambda: not (role.folder / "var" / "journal.json").exists())
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for pid in reflex_pids(role.folder / "etc" / "reflex.json"):
            os.kill(pid, signal.SIGKILL)
    assert lines() == ["a", "slow begins", "slow", "c", "back c", "back slow", "back a"]


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
@pytest.mark.parametrize(
    ("addresses", "restricted"), [(["169.254.169.254", "10.0.0.4"], True), ([], False)], ids=["literal", "names"]
)
def test_the_unit_is_a_sandbox(role, addresses, restricted):
    more = {"__watch_settings": {"addresses": addresses}, "watch_user": "azure-maintenance"}
    role(tasks_from="describe", **more)
    unit = role.folder / "watch.service"
    assert ("IPAddressDeny=any" in unit.read_text()) is restricted
    command = ["systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold=30", str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout.splitlines()[-1])
    verified = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert "Unknown" not in verified.stderr


# The rehearsal of docs/watch.md: its files as they stand there, with the paths and ports of this test in them.

GUIDE = ROOT / "docs" / "watch.md"


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def the_one_with(words, kind):
    (found,) = [block for block in blocks(kind) if words in block]
    return found


def events_of_the_guide():
    """What the guide has curl send to the control interface."""
    console = the_one_with("metadata_simulator", "console")
    return [json.loads(body) for body in re.findall(r"curl -d '(.*?)' http://127.0.0.1:8169/events", console)]


def test_the_rules_that_are_recommended_are_those_that_are_rehearsed():
    recommended = [
        rule
        for block in blocks("yaml")
        if block.startswith("watch_reflex:")
        for rule in yaml.safe_load(block)["watch_reflex"]
    ]
    (play,) = yaml.safe_load(the_one_with("rehearse.yml", "yaml"))
    assert play["vars"]["watch_reflex"] == recommended
    assert len(recommended) == 4
    # It costs requests, which only a Preempt is worth.
    assert [rule["type"] for rule in recommended if rule.get("past_others")] == ["Preempt"]


def test_the_rehearsal(tmp_path):
    place = tmp_path / "rehearsal"
    with Simulator(json.loads(the_one_with('"vms"', "json"))) as simulator:
        book = the_one_with("rehearse.yml", "yaml").replace("/tmp/rehearsal", str(place))
        (tmp_path / "rehearse.yml").write_text(book.replace("http://127.81.0.1:8170", simulator.endpoint("db-0")))
        console = the_one_with("metadata_simulator", "console")
        play = [
            "ansible-playbook",
            str(tmp_path / "rehearse.yml"),
            "-e",
            f"__watch_logrotate_file={tmp_path / 'rotate'}",
        ]
        # What the guide gives the last of its commands.
        remove = re.search(r"rehearse.yml (-e watch_state=absent.*)", console).group(1).split()
        run(tmp_path, play).ended()
        out_of_service, audit = place / "out-of-service", place / "log" / "audit.jsonl"
        reboot, preempt = events_of_the_guide()

        def told():
            lines = audit.read_text().splitlines() if audit.exists() else []
            return [line["what"] for line in map(json.loads, lines) if not line["what"].startswith("step")]

        with subprocess.Popen([place / "lib" / "watch", "--config", place / "watch.json"]) as watcher:
            try:
                first = simulator.add_event(**{**reboot, "dwell": 9000})["id"]
                simulator.wait_for(first, "Started", PATIENCE)
                assert out_of_service.exists()
                simulator.finish(first)
                wait_until(lambda: "returned to service" in told())
                assert not out_of_service.exists()
                second = simulator.add_event(**{**preempt, "notice": 900})["id"]
                wait_until(lambda: told().count("drained") == 2)
                assert out_of_service.exists()
                assert simulator.event(second)["status"] == "Scheduled"
            finally:
                watcher.terminate()
                for pid in reflex_pids(place / "reflex.json"):
                    os.kill(pid, signal.SIGKILL)
        assert told() == [
            "drain begins",
            "drained",
            "approval begins",
            "approved",
            "approval confirmed",
            "returned to service",
            "drain begins",
            "drained",
        ]
        run(tmp_path, [*play, *remove]).ended()
    assert not out_of_service.exists()
    assert not (place / "lib").exists()
