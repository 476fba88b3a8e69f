# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a watcher costs its host, beside a loop of curl that does no more than ask; and how soon its reflexes begin."""

from __future__ import annotations

import contextlib
import http.server
import os
import random
import resource
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from figures import Figure
from helpers.simulator_process import EVENTS_PATH, Simulator
from helpers.watcher_process import Watcher

# As on a host, not that of the tests: how large it is depends on who has built it.
PYTHON = shutil.which("python3", path="/usr/bin") or sys.executable
SECONDS = int(os.environ.get("WATCHER_SECONDS", "600"))
MANY = 100_000
NOTICES = 20
EVENTS = int(os.environ.get("REFLEX_EVENTS", "100"))
CURL_LOOP = 'while true; do curl -sf -H Metadata:true "$1" >/dev/null; sleep 1; done'
# The program's own parts, without its pauses.
WITHOUT_PAUSES = """
import sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.children import Notices
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import Reader
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.children import ReflexStarter
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.protocol import read_settings
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import Watch
settings = read_settings(sys.argv[2])
reader = Reader([HttpTransport(settings["endpoint"], keep=True)], settings["api_version"], "a")
watch = Watch(settings, reader, Notices(dict(settings, notify=[]), sys.argv[2], ""), ReflexStarter(settings, ""))
for number in range(int(sys.argv[3])):
    watch.look()
    if number in (1000, int(sys.argv[3]) - 1):
        with open("/proc/self/status") as about:
            print([line.split()[1] for line in about if line.startswith("VmRSS")][0], flush=True)
"""


def resident(folder: Path, _repeats: int) -> list[Figure]:
    """Once: what varies in ten minutes is within them."""
    with Simulator({"vms": [{"name": "a"}]}) as simulator, _receiver() as url:
        simulator.add_event(id="A1", type="Reboot", resources=["a"], notice=90000)
        notify = [{"url": url, "secret": "s"}]
        with (
            Watcher(folder, simulator.endpoint("a"), python=PYTHON, interval=1, notify=notify) as watcher,
            _curl_loop(f"{simulator.endpoint('a')}{EVENTS_PATH}?api-version=2020-07-01") as loop,
        ):
            watcher.wait_for(lambda status: status["events"])
            before, children, curl = watcher.processor_seconds(), _of_children(_pid(watcher)), _of_children(loop)
            began, count = time.monotonic(), len(_notices)
            time.sleep(SECONDS)
            readings = time.monotonic() - began
            spent = watcher.processor_seconds() - before
            told = len(_notices) - count
            each_child = (_of_children(_pid(watcher)) - children) / max(1, told)
            by_curl = (_of_children(loop) - curl) / readings
            memory = watcher.resident_kilobytes() / 1024
    parts = {"seconds": readings, "processor time": spent, "notices": told, "curl, each": by_curl}
    what = "a watcher of the metadata service, once a second, one address to tell"
    note = f"{SECONDS} s; a loop of curl takes {1000 * by_curl:.1f} ms of processor time for each reading"
    return [
        Figure(f"{what}: resident memory", "12 MB", 12, [memory], " MB", parts=parts),
        Figure(f"{what}: processor time of a reading", "0.5 ms", 0.5, [1000 * spent / readings], " ms", parts, note),
        Figure(f"{what}: processor time of a notice", "60 ms", 60, [1000 * each_child], " ms", parts=parts),
    ]


def notices(folder: Path, _repeats: int) -> list[Figure]:
    """One process for each notice, by the way that it takes. What the system trusts is a folder, or one large file."""
    key, own, trusted = _certificates(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own, key)
    figures = []
    with _receiver() as plain, _receiver(context) as secure:
        ways: dict[str, tuple[dict[str, str], dict[str, str]]] = {
            "over plain HTTP": ({"url": plain}, {}),
            "over TLS, ca_file": ({"url": secure, "ca_file": str(own)}, {}),
            "over TLS, the system's folder of CAs": ({"url": secure}, {"SSL_CERT_DIR": str(trusted)}),
        }
        for way, (address, environment) in ways.items():
            watcher = Watcher(folder / way.replace(" ", "-"), "http://127.0.0.1:1", python=PYTHON, notify=[address])
            spent = _by_processes(
                [PYTHON, "-I", "-S", str(watcher.program), "--notify", str(watcher.config)], environment
            )
            figures.append(Figure(f"processor time of a notice {way}", "60 ms", 60, spent, " ms"))
    return figures


def _certificates(folder: Path) -> tuple[Path, Path, Path]:
    """A key, its certificate, and a folder in which OpenSSL finds that one beside all that the system trusts."""
    key, own, trusted = folder / "key.pem", folder / "own.pem", folder / "trusted"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=x", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(own)]
    subprocess.run(command, check=True, capture_output=True)
    trusted.mkdir()
    for path in Path("/etc/ssl/certs").glob("*.[0-9]"):
        (trusted / path.name).symlink_to(path)
    asked = ["openssl", "x509", "-in", str(own), "-noout", "-hash"]
    name = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    (trusted / f"{name}.0").symlink_to(own)
    return key, own, trusted


def _by_processes(command: list[str], environment: dict[str, str]) -> list[float]:
    """Milliseconds of processor time of each; the first one, which compiles, is left out."""
    spent = []
    # Where the machine of the bench names a file of its own, the folder would not be looked at.
    surroundings = {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"} | environment
    for sequence in range(NOTICES + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*command, "0", "changed", str(sequence)], check=True, env=surroundings)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
    return spent[1:]


def growth(folder: Path, _repeats: int) -> list[Figure]:
    with _answering(b'{"DocumentIncarnation": 1, "Events": []}') as endpoint:
        watcher = Watcher(folder, endpoint, python=PYTHON)
        command = [PYTHON, "-I", "-S", "-c", WITHOUT_PAUSES, str(folder / "lib"), str(watcher.config), str(MANY)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    early, late = (int(line) for line in done.stdout.split())
    parts = {"kB after 1,000": early, "kB after all": late}
    return [Figure(f"growth of a watcher over {MANY} readings", "nothing", 128, [float(late - early)], " kB", parts)]


def until_the_first_step(folder: Path, _repeats: int) -> list[Figure]:
    """Each event comes at a moment of its own within the second."""
    diary = folder / "diary"
    note = ["sh", "-c", f"date +%s.%N >>{diary}"]
    steps = [{"number": 1, "kind": "command", "arguments": {"drain": note}}]
    reflex = {"reflex": [{"action": "drain"}], "steps": steps}
    seconds: list[float] = []
    with Simulator({"vms": [{"name": "a"}]}, requests_per_second=0) as simulator:
        watcher = Watcher(folder, simulator.endpoint("a"), python=PYTHON, interval=1, reflex=reflex)
        with watcher:
            watcher.wait_for(lambda status: status["this_host"])
            _wait((folder / "reflex_memory.json").exists)
            # One that has only just begun to watch can't know what went before.
            time.sleep(31)
            for number in range(EVENTS):
                time.sleep(2 + random.random())
                shown = time.time()
                simulator.add_event(id=f"E{number}", type="Reboot", resources=["a"], notice=9000)
                _wait(lambda count=number: len(_lines(diary)) > count)
                seconds.append(float(_lines(diary)[number]) - shown)
                time.sleep(1.2)
                simulator.cancel(f"E{number}")
                _wait(lambda: not watcher.journal.exists())
            for pid in watcher.reflex_pids():
                os.kill(pid, signal.SIGKILL)
    parts: dict[str, Any] = {"seconds": seconds, "median": statistics.median(seconds)}
    p95 = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
    note_of = f"{EVENTS} events, the median is {statistics.median(seconds):.2f} s"
    return [Figure("publication to the first step of a reflex, p95", "1.2 s", 1.2, [p95], " s", parts, note_of)]


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def _wait(question: Callable[[], Any]) -> None:
    ends = time.monotonic() + 30
    while not question():
        if time.monotonic() > ends:
            sys.exit("it did not happen, so this measures something else")
        time.sleep(0.02)


_notices: list[bytes] = []


@contextlib.contextmanager
def _receiver(tls: ssl.SSLContext | None = None) -> Iterator[str]:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            _notices.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


@contextlib.contextmanager
def _curl_loop(url: str) -> Iterator[int]:
    with subprocess.Popen(["sh", "-c", CURL_LOOP, "sh", url], start_new_session=True) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@contextlib.contextmanager
def _answering(body: bytes) -> Iterator[str]:
    """The quickest service there can be: one connection, always the same answer."""
    listener = socket.create_server(("127.0.0.1", 0))
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def serve() -> None:
        connection, _peer = listener.accept()
        with connection:
            while connection.recv(65536):
                connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    with listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def _pid(watcher: Watcher) -> int:
    assert watcher.process
    return watcher.process.pid


def _of_children(pid: int) -> float:
    """Processor time of the children of a process that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")
