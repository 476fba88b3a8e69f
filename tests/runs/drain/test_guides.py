# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples of docs/drain-steps.md, first-run.md, automatic-repairs.md and troubleshooting.md, with our paths."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sys
import threading
from pathlib import Path

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import SPECS
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import checked_steps
from helpers import ROOT
from helpers.ansible_run import inventory, play, run
from helpers.host_services import program, running
from helpers.network import free_port, http_server
from helpers.simulator_process import Simulator, ask
from helpers.waiting import wait_until

pytestmark = pytest.mark.rest
GUIDE = ROOT / "docs" / "drain-steps.md"
PROGRAMS = ["leave-ring", "join-ring", "hand-over", "take-over", "is-handed-over", "save-state", "load-state"]
# Each program leaves a line; the one that is asked whether the part is handed over looks for the other's.
PROGRAM = '#!/bin/sh\ncase $0 in */is-handed-over) grep -q hand-over "$0.log";; *) echo "${0##*/} $*" >> LOG;; esac\n'


def blocks():
    return re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def examples(replacements):
    steps = []
    for block in blocks():
        if not block.startswith("drain_steps:"):
            continue
        for old, new in replacements.items():
            block = block.replace(old, new)
        steps += yaml.safe_load(block)["drain_steps"]
    return steps


def test_every_kind_has_an_example_that_is_right():
    steps = checked_steps(examples({"{{ inventory_hostname }}": "web_0"}), {})
    assert {step.kind for step in steps} == set(SPECS)


def test_the_examples_run(tmp_path, haproxy, nginx, units, listener):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).write_text(
            PROGRAM.replace("LOG", str(tmp_path / "log")).replace('"$0.log"', str(tmp_path / "log"))
        )
        (programs / name).chmod(0o755)
    # What the packages of a distribution bring: nginx with its own configuration.
    (programs / "nginx").write_text(f'#!/bin/sh\nexec {" ".join(nginx.command)} "$@"\n')
    (programs / "nginx").chmod(0o755)
    (tmp_path / "tasks").mkdir()
    for name in ("leave", "join"):
        task = {"name": name, "ansible.builtin.debug": {"msg": "{{ drain_step.number }} {{ maintenance_event.type }}"}}
        (tmp_path / "tasks" / f"{name}.yml").write_text(json.dumps([task]))
    (tmp_path / "healthy").touch()
    units.set(nginx="active", worker="inactive")
    steps = examples(
        {
            "/run/haproxy/admin.sock": haproxy.socket,
            "/etc/nginx/conf.d/web.conf": str(nginx.upstream),
            "10.0.0.4:80": "127.0.0.1:8001",
            "https://chat.example.com/hook": listener.url + "/hook",
            "http://127.0.0.1:8008": listener.url,
            "/usr/local/bin": str(programs),
            "/var/www/probe/healthy": str(tmp_path / "healthy"),
        }
    )
    steps = [step for step in steps if "kubernetes" not in step]
    event = {"id": "A1", "type": "Reboot", "not_before": None, "affects_this_host": True, "description": "x"}
    host = {
        "drain_journal": f"{tmp_path}/journal/journal.json",
        "maintenance_status": {"events": [event]},
        "maintenance_endpoint": "",
    }
    book = inventory(tmp_path, {"web_0": {**host, "drain_steps": steps}, "lb1": {}})
    roles = [{"ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}} for name in ("drain", "restore")]
    folders = [str(units.folder), str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    before = nginx.upstream.read_text()
    play(tmp_path, book, *roles, hosts="web_0", PATH=os.pathsep.join(folders)).ended()
    assert (tmp_path / "log").read_text().splitlines() == [
        "leave-ring ",
        "hand-over ",
        "save-state --to /srv/state",
        "leave-ring ",
        "join-ring --wait",
        "load-state ",
        "take-over ",
        "join-ring ",
    ]
    assert units.calls() == ["stop nginx", "start nginx"]
    assert [body["text"] for body in listener.bodies if "text" in body] == ["draining for Reboot: x", "back in service"]
    assert listener.leader == "web_9"
    assert haproxy.states()["web_0"] == "ready"
    assert nginx.upstream.read_text() == before
    assert (tmp_path / "healthy").exists()
    assert not (tmp_path / "journal" / "journal.json").exists()


DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(yaml|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def files_and_commands(page):
    files, commands = {}, []
    for language, content in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if language == "console":
            commands += content.splitlines()
        else:
            title, _end, body = content.partition("\n")
            files[title.removeprefix("# ")] = body
    return files, commands


@pytest.fixture
def fleet(tmp_path, haproxy, units, listener):
    """The files of the guide, with the addresses and paths of this test in them."""
    vms = [{"name": f"web-{number}", "group": "web"} for number in range(3)]
    with Simulator({"groups": {"web": {}}, "vms": vms}, requests_per_second=0) as simulator:
        simulator.document("web-0")
        replacements = {
            "{{ inventory_hostname }}": "{{ inventory_hostname | replace('-', '_') }}",
            "/run/haproxy/admin.sock": haproxy.socket,
            "http://localhost": listener.url,
            "ansible_become: true": "ansible_become: false",
        }
        files, _commands = files_and_commands("first-run.md")
        for name, text in files.items():
            for old, new in replacements.items():
                text = text.replace(old, new)
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        own = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "drain_journal": str(tmp_path / "{{ inventory_hostname }}" / "journal.json"),
            "maintenance_lock_path": str(tmp_path / "{{ inventory_hostname }}.lock"),
        }
        (tmp_path / "inventory" / "group_vars" / "all.yml").write_text(json.dumps(own))
        (tmp_path / "inventory" / "host_vars").mkdir()
        for vm, url in simulator.endpoints.items():
            (tmp_path / "inventory" / "host_vars" / f"{vm}.json").write_text(json.dumps({"maintenance_endpoint": url}))
        units.set(nginx="active")
        yield simulator


def do(tmp_path, units, command):
    path = os.pathsep.join([str(units.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    return run(tmp_path, shlex.split(command), PATH=path)


def test_the_guide(tmp_path, fleet, haproxy, units):
    _files, commands = files_and_commands("first-run.md")
    read, look, run = commands
    event = fleet.add_event(type="Reboot", resources=["web-1"], dwell=1)

    done = do(tmp_path, units, read).ended()
    assert "3 hosts: 2 with nothing planned, 1 with events, 0 unread" in done.output

    done = do(tmp_path, units, look).ended()
    assert "Wave 1 of 1" in done.output
    assert units.calls() == []
    assert fleet.event(event["id"])["status"] == "Scheduled"

    done = do(tmp_path, units, run).ended()
    assert fleet.event(event["id"])["status"] == "Finished"
    assert units.calls() == ["stop nginx", "start nginx"]
    assert haproxy.states()["web_1"] == "ready"
    assert not (tmp_path / "web-1" / "journal.json").exists()


def test_a_host_is_put_back_by_hand(tmp_path, fleet, haproxy, units):
    """What troubleshooting.md says to do for one host that was left drained."""
    files, commands = files_and_commands("troubleshooting.md")
    (tmp_path / "restore_one.yml").write_text(files["restore_one.yml"])
    drain = files["restore_one.yml"].replace("maintenance.azure.restore", "maintenance.azure.drain")
    (tmp_path / "drain_one.yml").write_text(drain)
    event = fleet.add_event(type="Reboot", resources=["web-0"])
    (told,) = [command for command in commands if "restore_one" in command]
    command = told.replace("web-3", "web-0")
    do(tmp_path, units, command.replace("restore_one", "drain_one")).ended()
    assert (haproxy.states()["web_0"], units.states()) == ("drain", {"nginx": "inactive"})
    fleet.cancel(event["id"])
    do(tmp_path, units, command).ended()
    assert (haproxy.states()["web_0"], units.states()) == ("ready", {"nginx": "active"})


# Two health paths: what the load balancer asks, and what Azure's automatic repairs ask.

RICH = {"ApplicationHealthState": "Healthy"}
NGINX = (
    "user root;\ndaemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n"
    "client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;\n"
)
HAPROXY = (
    "global\n  stats socket HAPROXY_SOCKET mode 600 level admin\n"
    "defaults\n  timeout connect 1s\n  timeout client 30s\n  timeout server 30s\n"
)


def named_blocks(page):
    """The blocks of a page by the words after the # of their first line."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return dict(re.findall(r"^```(?:yaml|nginx|text)\n# ([^\n,]+)[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


class TwoPaths:
    def __init__(self, folder, way, app):
        self.folder, self.way, self.port = folder, way, free_port()
        self.socket = str(folder / "admin.sock")
        self.replacements = {
            "/run/haproxy/admin.sock": self.socket,
            "HAPROXY_SOCKET": self.socket,
            "/var/lib/maintenance": str(folder),
            "127.0.0.1:8000": app.removeprefix("http://"),
            "[8000]": f"[{app.rpartition(':')[2]}]",
            "8080": str(self.port),
            "wait: 15": "wait: 0",
        }
        self.blocks = {name: self.here(text) for name, text in named_blocks("automatic-repairs.md").items()}

    def here(self, text):
        for old, new in self.replacements.items():
            text = text.replace(old, new)
        return text

    def steps(self):
        return yaml.safe_load(self.blocks[self.way])["drain_steps"]

    def command(self):
        binary, path = program(self.way), self.folder / "configuration"
        if self.way == "nginx":
            path.write_text(NGINX + self.blocks["/etc/nginx/conf.d/health.conf"] + "}\n")
            return [binary, "-p", str(self.folder), "-c", str(path), "-e", "stderr"]
        path.write_text(self.here(HAPROXY) + self.blocks["/etc/haproxy/haproxy.cfg"])
        return [binary, "-db", "-f", str(path)]

    def ask(self, path):
        return ask(f"http://127.0.0.1:{self.port}/health/{path}")

    def statuses(self):
        return self.ask("lb").status, self.ask("vm").status

    def answers(self):
        with contextlib.suppress(OSError):
            return self.statuses() == (200, 200)
        return False

    @contextlib.contextmanager
    def asked_all_the_time(self):
        """Ask as the extension of Azure does, and yield the answers that are not those of a healthy VM."""
        unhealthy, ended = [], threading.Event()

        def probe():
            while not ended.wait(0.02):
                answer = self.ask("vm")
                if answer.status != 200 or answer.json != RICH:
                    unhealthy.append(answer)

        thread = threading.Thread(target=probe)
        thread.start()
        try:
            yield unhealthy
        finally:
            ended.set()
            thread.join()


@pytest.mark.parametrize("way", ["nginx", "haproxy"])
def test_a_drain_fails_the_path_of_the_load_balancer_and_never_that_of_automatic_repairs(tmp_path, units, way):
    program("curl")
    units.set(app="active")

    def health(*_request):
        return (200, RICH) if units.states()["app"] == "active" else (503, None)

    def do(role):
        done = play(tmp_path, book, {"ansible.builtin.include_role": {"name": f"maintenance.azure.{role}"}}, PATH=path)
        assert done.code == 0, done.output

    path = os.pathsep.join([str(units.folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    with http_server(health) as app:
        paths = TwoPaths(tmp_path, way, app)
        host = {"drain_journal": f"{tmp_path}/journal/journal.json", "drain_steps": paths.steps()}
        book = inventory(tmp_path, {"web-0": {**host, "maintenance_status": {"events": []}}})
        with running(paths.command(), paths.answers):
            with paths.asked_all_the_time() as unhealthy:
                do("drain")
                assert units.states() == {"app": "inactive"}
                wait_until(lambda: paths.ask("app").status != 200)
                assert (paths.statuses(), paths.ask("vm").json) == ((503, 200), RICH)
                do("restore")
                assert paths.statuses() == (200, 200)
            assert unhealthy == []
            # A VM that breaks by itself is repaired all the same.
            units.set(app="inactive")
            wait_until(lambda: paths.ask("vm").status == 503)
            assert paths.ask("lb").status == 503
