# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts of these tests have: a real HAProxy, a real nginx, and a stand-in for systemctl."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._steps import kind_haproxy as _kind_haproxy

from helpers.network import free_port, http_server
from helpers.waiting import PATIENCE, wait_until

# Systemd is not the first process where these tests run, so a file plays its part; the lab has the real one.
SYSTEMCTL = """#!%s
import fcntl, json, pathlib, sys
store = pathlib.Path(__file__).with_name("units.json")
# All hosts of a test are this machine, and come at the same time.
lock = store.with_name("lock").open("w")
fcntl.flock(lock, fcntl.LOCK_EX)
units = json.loads(store.read_text())
verb, names = sys.argv[1], sys.argv[sys.argv.index("--") + 1:]
verb = sys.argv[2] if verb.startswith("-") else verb
if verb == "show":
    loaded = lambda name: "loaded" if name in units else "not-found"
    print("\\n\\n".join("LoadState=%%s\\nActiveState=%%s" %% (loaded(n), units.get(n, "inactive")) for n in names))
elif verb == "is-active":
    print(units.get(names[0], "inactive"))
    sys.exit(units.get(names[0]) != "active")
else:
    for name in names:
        if name == "stubborn":
            sys.exit("Job for %%s failed." %% name)
        units[name] = {"stop": "inactive", "start": "active"}[verb]
    with store.with_name("calls").open("a") as calls:
        calls.write(" ".join([verb] + names) + "\\n")
    store.write_text(json.dumps(units))
"""


class Units:
    """The units of the stand-in for systemctl."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        program = folder / "systemctl"
        program.write_text(SYSTEMCTL % sys.executable)
        program.chmod(0o755)

    def set(self, **states: str) -> None:
        (self.folder / "units.json").write_text(json.dumps(states))

    def states(self) -> dict[str, str]:
        return json.loads((self.folder / "units.json").read_text())

    def calls(self) -> list[str]:
        calls = self.folder / "calls"
        return calls.read_text().splitlines() if calls.exists() else []


@pytest.fixture
def units(tmp_path):
    return Units(tmp_path / "systemd")


@contextlib.contextmanager
def running(command: list[str], is_up):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_until(lambda: process.poll() is not None or is_up())
        assert process.poll() is None, process.stdout.read()
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


def program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin:/usr/local/sbin")
    if not found:
        pytest.skip(f"{name} is not installed here")
    return found


class Haproxy:
    def __init__(self, socket_path: Path, port: int) -> None:
        self.socket = str(socket_path)
        self.port = port

    def ask(self, command: str) -> str:
        return _kind_haproxy.ask(self.socket, command)

    def states(self) -> dict[str, str]:
        servers = _kind_haproxy.server_states(self.ask("show servers state web"))
        return {name: server["state"] for name, server in servers.items()}


@pytest.fixture
def haproxy(tmp_path):
    """A real HAProxy with web_0, web_1 and web_2 behind it; the last one is in maintenance by an operator's hand."""
    binary = program("haproxy")
    port, backend = free_port(), free_port()
    balancer = Haproxy(tmp_path / "haproxy.sock", port)
    servers = "\n".join(f"  server web_{number} 127.0.0.1:{backend}" for number in range(3))
    (tmp_path / "haproxy.cfg").write_text(
        f"global\n  stats socket {balancer.socket} mode 600 level admin\n"
        f"  stats socket {balancer.socket}.weak mode 600 level operator\n"
        "defaults\n  mode tcp\n  timeout connect 1s\n  timeout client 30s\n  timeout server 30s\n"
        f"frontend front\n  bind 127.0.0.1:{port}\n  default_backend web\nbackend web\n{servers}\n"
    )
    with running([binary, "-db", "-f", str(tmp_path / "haproxy.cfg")], Path(balancer.socket).exists):
        balancer.ask("set server web/web_2 state maint")
        yield balancer


class Nginx:
    def __init__(self, folder: Path, binary: str) -> None:
        self.upstream = folder / "upstream.conf"
        self.command = [binary, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]


@pytest.fixture
def nginx(tmp_path):
    """A real nginx with an upstream in a file of its own."""
    binary = program("nginx")
    folder = tmp_path / "nginx"
    folder.mkdir()
    port = free_port()
    balancer = Nginx(folder, binary)
    balancer.upstream.write_text(
        "upstream web {\n    # server 127.0.0.1:8001 was here\n    server 127.0.0.1:8001   weight=5  max_fails=2;\n"
        "    server 127.0.0.1:8002;\n    server 127.0.0.1:8003 down;\n}\n"
    )
    (folder / "nginx.conf").write_text(
        "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\n  access_log off;\n"
        "  client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;\n"
        "  uwsgi_temp_path tmp; scgi_temp_path tmp;\n  include upstream.conf;\n"
        f"  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://web; }} }}\n}}\n"
    )
    with running(balancer.command, (folder / "nginx.pid").exists):
        yield balancer


class Listener:
    """Remembers every request; plays a webhook and Patroni's REST interface."""

    def __init__(self) -> None:
        self.bodies: list[dict] = []
        self.leader = "web_0"
        self.answer = 200
        self.url = ""

    def reply(self, method: str, path: str, body: bytes) -> tuple[int, dict]:
        if method == "POST":
            self.bodies.append(json.loads(body))
        if path == "/switchover":
            self.leader = self.bodies[-1].get("candidate", "web_9")
        roles = {name: "leader" if name == self.leader else "replica" for name in ("web_0", "web_9")}
        if path == "/patroni":
            # The member that is asked is web_0.
            return 200, {
                "role": roles["web_0"].replace("leader", "primary"),
                "patroni": {"name": "web_0", "scope": "pg"},
            }
        if path == "/cluster":
            return 200, {"members": [{"name": n, "role": role, "state": "running"} for n, role in roles.items()]}
        return self.answer, {}


@pytest.fixture
def listener():
    listening = Listener()
    with http_server(lambda method, path, _headers, body: listening.reply(method, path, body)) as listening.url:
        yield listening
