# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices: when they are sent, by a clock that the test moves, and what arrives at a real receiver."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import http.server
import json
import ssl
import subprocess
import threading
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import children as _children
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import notify as _notify
from helpers.simulator_process import Simulator
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import Watcher
from hypothesis import given
from hypothesis import strategies as st


class Receiver:
    """A real HTTP server that keeps what it gets. `answers` are statuses, the last one for ever; 0 hangs.

    `says` is how many bytes it says besides.
    """

    def __init__(self, answers=(204,), tls=None, says=0):
        self.answers = list(answers)
        self.got = []
        self.given_up = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.answers.pop(0) if len(receiver.answers) > 1 else receiver.answers[0]
                receiver.got.append((status, dict(self.headers), body.decode(), self.path))
                if not status:
                    # Until the sender has given up.
                    self.rfile.read(1)
                    receiver.given_up.set()
                    return
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", str(says))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(says * b"x")

            def log_message(self, *_words):
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls:
            self.scheme = "https"
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"{self.scheme}://127.0.0.1:{self.server.server_port}/hook?team=a"

    def wait_for(self, question):
        wait_until(lambda: any(map(question, list(self.got))), lambda: str(self.got))
        return next(filter(question, list(self.got)))


def told(one):
    return json.loads(one[2])["maintenance"]


def without_time(event):
    return {key: value for key, value in event.items() if key != "seconds_left"}


@contextlib.contextmanager
def watched(folder, *addresses, **settings):
    simulator = Simulator({"vms": [{"name": "web-0"}]})
    with simulator, Watcher(folder, simulator.endpoint("web-0"), notify=list(addresses), **settings) as watcher:
        yield simulator, watcher


def test_a_change_is_told_at_once_signed_and_whole(tmp_path):
    receiver, began = Receiver(), time.time()
    address = {"url": receiver.url, "secret": "s\u00e9cret", "headers": {"Authorization": "Bearer x"}}
    with watched(tmp_path, address, name="w\u00e9b") as (simulator, watcher):
        receiver.wait_for(lambda one: told(one)["status"])
        simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
        status, headers, body, path = receiver.wait_for(
            lambda one: told(one)["status"] and told(one)["status"]["events"]
        )
        # The file is written anew again and again: what it says at some time, not what it says right now.
        kept = watcher.wait_for(lambda status: status["events"])
    assert (status, path) == (204, "/hook?team=a")
    about = json.loads(body)["maintenance"]
    assert (about["host"], about["reason"]) == ("w\u00e9b", "changed")
    assert [without_time(one) for one in about["status"]["events"]] == [without_time(one) for one in kept["events"]]
    # A reading may have come too early for the service after that, on a busy machine: that is said here, too.
    assert set(about["status"]["watcher"]) >= {"version", "failing_since", "problem", "drained"}
    assert headers["Authorization"] == "Bearer x"
    assert headers["Content-Type"] == "application/json"
    at = int(headers["X-Maintenance-Time"])
    assert int(began) <= at <= time.time()
    signed = f"{at}.w\u00e9b.{body}".encode()
    expected = hmac.new("s\u00e9cret".encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Maintenance-Signature"] == f"sha256={expected}"


def test_a_sign_of_life_comes_also_before_the_first_good_reading(tmp_path):
    receiver = Receiver()
    with Watcher(tmp_path, "http://127.0.0.1:1", notify=[{"url": receiver.url}], heartbeat=0.2):
        one = receiver.wait_for(lambda one: told(one)["reason"] == "heartbeat")
        later = receiver.wait_for(lambda other: told(other)["sequence"] > told(one)["sequence"])
    assert told(one)["status"] is None
    assert "X-Maintenance-Signature" not in one[1]
    assert told(later)["host"] == "host-1"


def test_one_that_fails_is_sent_again_with_a_new_signature_and_what_is_newest(tmp_path):
    receiver = Receiver([503, 302, 500, 204])
    address = {"url": receiver.url, "secret": "s"}
    with watched(tmp_path, address, heartbeat=0.3) as (simulator, watcher):
        watcher.wait_for(lambda status: True)
        simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
        good = receiver.wait_for(lambda one: one[0] == 204)
    assert told(good)["reason"] == "changed"
    got = list(receiver.got)
    sequences = [told(one)["sequence"] for one in got]
    assert sequences == sorted(set(sequences))
    signatures = [one[1]["X-Maintenance-Signature"] for one in got]
    assert len(set(signatures)) == len(signatures)
    assert "could not be told: it answered 302" in watcher.errors()
    assert "team=a" not in watcher.errors()


@pytest.mark.parametrize(("status", "is_told"), [(200, True), (302, False), (500, False)])
def test_the_status_decides_also_of_an_answer_that_never_ends(status, is_told):
    address = {"url": Receiver([status], says=_http.LARGEST_BODY + 1).url}
    if is_told:
        _notify.send(address, "web-0", "{}", time.time())
    else:
        with pytest.raises(_notify.NotTold, match=f"it answered {status}"):
            _notify.send(address, "web-0", "{}", time.time())


def test_a_run_at_work_is_told_until_its_mark_lapses(tmp_path):
    receiver = Receiver()
    (tmp_path / "run.json").write_text(json.dumps({"run_id": "r", "until": time.time() + 60}))
    with watched(tmp_path, {"url": receiver.url}, heartbeat=0.2):
        held = told(receiver.wait_for(lambda one: "run_until" in told(one)))
        (tmp_path / "run.json").write_text(json.dumps({"run_id": "r", "until": time.time() - 1}))
        receiver.wait_for(lambda one: told(one)["sequence"] > held["sequence"] and "run_until" not in told(one))
    assert held["run_until"] > held["sent_at"]


def test_a_receiver_that_hangs_holds_up_neither_the_watch_nor_another_one(tmp_path):
    hanging, good = Receiver([0]), Receiver()
    with watched(tmp_path, {"url": hanging.url}, {"url": good.url}) as (simulator, watcher):
        hanging.wait_for(lambda one: True)
        simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
        watcher.wait_for(lambda status: status["events"])
        good.wait_for(lambda one: told(one)["status"] and told(one)["status"]["events"])
        assert not hanging.given_up.is_set()
        assert watcher.stop() == 0
        assert hanging.given_up.wait(PATIENCE)
        assert len(hanging.got) == 1


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-days", "2", "-subj", "/CN=x"]
    subprocess.run([*command, "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    return folder


def test_tls_by_a_ca_of_the_users_and_by_no_other(tmp_path, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    receiver, unknown = Receiver(tls=context), Receiver(tls=context)
    addresses = [{"url": receiver.url, "ca_file": str(certificate / "cert.pem")}, {"url": unknown.url}]
    with watched(tmp_path, *addresses, heartbeat=1) as (_simulator, watcher):
        receiver.wait_for(lambda one: told(one)["status"])
        wait_until(lambda: "TLS:" in watcher.errors())
    assert "could not be told: TLS:" in watcher.errors()
    assert unknown.got == []


@pytest.fixture
def by_the_system(certificate, monkeypatch):
    """A receiver whose certificate the system knows; `by_the_system(names in the folder of CAs, the bundle)`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    receiver = Receiver(tls=context)

    def send(folder, bundle):
        if bundle:
            # What OpenSSL has for its default is built into it; this stands for it.
            monkeypatch.setattr(_http, "folder_by_hash", lambda: str(folder))
            monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
        else:
            monkeypatch.delenv("SSL_CERT_FILE", raising=False)
            monkeypatch.setenv("SSL_CERT_DIR", str(folder))
        _notify.send({"url": receiver.url}, "web-0", "{}", time.time())
        return receiver.got

    return send


def hash_of(path):
    return subprocess.run(
        ["openssl", "x509", "-in", str(path), "-noout", "-hash"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_a_ca_of_the_systems_folder_is_found_without_the_bundle(tmp_path, certificate, by_the_system, monkeypatch):
    (tmp_path / f"{hash_of(certificate / 'cert.pem')}.0").symlink_to(certificate / "cert.pem")
    monkeypatch.setattr(ssl.SSLContext, "load_default_certs", lambda *_words: pytest.fail("the whole bundle was read"))
    assert by_the_system(tmp_path, None)


def test_one_that_is_in_the_bundle_alone_is_trusted_all_the_same(tmp_path, certificate, by_the_system):
    assert len(by_the_system(tmp_path, certificate / "cert.pem")) == 1


def test_a_folder_that_is_not_kept_by_hash_is_not_relied_on(tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    (tmp_path / "own-ca.pem").touch()
    assert _http.folder_by_hash() is None
    (tmp_path / "0a1b2c3d.0").touch()
    assert _http.folder_by_hash() == str(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "own-ca.pem"))
    assert _http.folder_by_hash() is None


class PlayedChild:
    """Stands in for a process, and is none: what would be sent to it goes nowhere."""

    def __init__(self, command):
        self.reason = command[-2]
        self.code = None
        self.was_killed = False

    def exit_code(self):
        return self.code

    def kill(self):
        self.was_killed = True


@given(st.lists(st.tuples(st.floats(0.1, 5), st.booleans(), st.sampled_from(["runs", "good", "bad"])), max_size=60))
def test_one_at_a_time_and_what_was_news_is_told(history):
    """Whatever happens: never two at once, a change is never forgotten, no silence beyond a heartbeat and a pause."""
    now = [0.0]
    started = []

    def start(command):
        started.append(PlayedChild(command))
        return started[-1]

    settings = {"notify": [{"url": "http://x"}], "heartbeat": 10}
    notices = _children.Notices(settings, "/c", "/p", lambda: now[0], start)
    running, untold, last_end = None, False, 0.0
    for seconds, is_new, end in history:
        now[0] += seconds
        if running and end != "runs":
            running.code = 0 if end == "good" else 1
            untold = untold or (end == "bad" and running.reason == "changed")
            running, last_end = None, now[0]
        before = len(started)
        untold = untold or is_new
        notices.go_on(is_new)
        if running and running.was_killed:
            untold = untold or running.reason == "changed"
            running, last_end = None, now[0]
        if len(started) > before:
            assert running is None
            running = started[-1]
            assert running.reason == ("changed" if untold else "heartbeat")
            untold = False
        elif running is None:
            assert now[0] - last_end < 10 + 5


def test_where_no_process_can_be_made_it_is_tried_again_later():
    now, tried = [0.0], []

    def start(command):
        tried.append(command[-2])
        raise BlockingIOError(11, "Resource temporarily unavailable")

    settings = {"notify": [{"url": "http://x"}, {"url": "http://y"}], "heartbeat": 10}
    notices = _children.Notices(settings, "/c", "/p", lambda: now[0], start)
    notices.go_on(True)
    assert tried == ["changed"] * 2
    now[0] += 11
    notices.go_on(False)
    assert tried == ["changed"] * 4


def test_no_child_lives_for_ever():
    now, started = [0.0], []
    settings = {"notify": [{"url": "http://x"}], "heartbeat": 10}
    notices = _children.Notices(
        settings, "/c", "/p", lambda: now[0], lambda command: started.append(PlayedChild(command)) or started[-1]
    )
    notices.go_on(True)
    now[0] = _children.LONGEST_CHILD
    notices.go_on(False)
    assert not started[0].was_killed
    now[0] += 1
    notices.go_on(False)
    assert started[0].was_killed
    now[0] += 10
    notices.go_on(False)
    assert [child.reason for child in started] == ["changed", "changed"]
