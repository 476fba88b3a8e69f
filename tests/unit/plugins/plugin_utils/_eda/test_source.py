# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source: its arguments, and `main(queue, args)` as ansible-rulebook calls it, against a real HTTP client."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import http.client
import json
import logging
import runpy
import socket
import ssl
import subprocess
import sys
import time

import jinja2
import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notices import (
    Allowance,
    BadArguments,
    SeenSignatures,
    SourceArguments,
    arguments_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.source import check_rulebook
from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import no_template
from helpers.event_source import PLUGIN, RunningSource, Watchers, event, status
from helpers.network import free_port
from helpers.simulator_process import Simulator
from helpers.waiting import wait_until
from helpers.watcher_process import Watcher, resident_kilobytes
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.waits

QUICK = {"secret": "s", "settle": 0.3, "remind": 60, "silent_after": 60}


def is_pending(told):
    return told["state"] == "pending"


def test_the_event_of_a_group_is_told_once_with_all_hosts_that_it_names():
    with RunningSource(**QUICK) as source:
        watchers = Watchers(source.port)
        shared = event("A", ("web-0", "WEB-1", "vm-9"))
        for name in ("web-0", "web-1"):
            assert watchers.tell(name, status(shared, vm_name=name, scale_set="set-web")) == 204
        told = source.wait_for(lambda told: told["hosts"] == ["web-0", "web-1"])
        watchers.tell("web-0", status(shared, vm_name="web-0", scale_set="set-web"))
        # On a slow machine it is told of the first of them before it hears the second.
        assert len(source.told) == told["attempt"]
        meta = source.told[-1]["meta"]
    assert told["hosts"] == meta["hosts"] == ["web-0", "web-1"]
    assert (told["unwatched"], told["group"], told["reason"]) == (["vm-9"], "set-web", None)
    assert told["deadline"] == shared["not_before"] == told["event"]["not_before"]
    assert 600 < told["seconds_left"] <= 900
    assert {**told["event"], "seconds_left": 0} == {**shared, "affects_this_host": None, "seconds_left": 0}
    assert meta["uuid"]
    assert meta["received_at"].endswith("Z")


def test_who_has_no_secret_is_refused_with_a_line_in_the_log(caplog):
    with RunningSource(**QUICK) as source, caplog.at_level(logging.WARNING):
        good = Watchers(source.port)
        assert Watchers(source.port, secret=None).tell("web-0", status(event())) == 401
        assert Watchers(source.port, secret="wrong").tell("web-0", status(event())) == 401
        body, headers = good.notice("web-0", status(event()), 1)
        assert good.post(body + b" ", headers) == 401
        assert good.post(body, {**headers, "X-Maintenance-Host": "web-1"}) == 401
        assert good.post(body, {**headers, "X-Maintenance-Time": "12\u00b2"}) == 401
        time.sleep(1)
        assert not source.told
    assert "Refused a notice from 127.0.0.1: web-0: the signature is wrong" in caplog.text
    assert "Refused a notice from 127.0.0.1: web-0: it is not signed" in caplog.text


def test_the_very_same_notice_is_refused_and_an_older_one_changes_nothing():
    with RunningSource(**QUICK) as source:
        watchers = Watchers(source.port)
        old = watchers.notice("web-0", status(), 1)
        assert watchers.post(*watchers.notice("web-0", status(event()), 5)) == 204
        source.wait_for(is_pending)
        assert watchers.post(*old) == 204
        assert watchers.post(*old) == 409
        time.sleep(1)
        assert len(source.told) == 1


@pytest.mark.parametrize("away", [-1000, 1000])
def test_a_clock_that_is_wrong_is_told_once_and_what_it_says_not_believed(away):
    with RunningSource(**QUICK) as source:
        watchers = Watchers(source.port)
        assert watchers.tell("web-0", status(event()), at=time.time() + away) == 403
        told = source.wait_for(lambda told: told["state"] == "silent")
        assert watchers.tell("web-0", status(event()), at=time.time() + away) == 403
        time.sleep(1)
        assert len(source.told) == 1
        assert watchers.tell("web-0", status(event())) == 204
        source.wait_for(lambda told: told["state"] == "back")
        source.wait_for(is_pending)
    assert (told["reason"], told["hosts"]) == ("clock", ["web-0"])


def test_several_secrets_are_good_and_a_host_with_its_own_needs_that():
    with RunningSource(secret=["new", "old"], secrets={"web-2": "own"}) as source:
        for secret, host, answer in (
            ("new", "web-0", 204),
            ("old", "web-1", 204),
            ("own", "web-0", 401),
            ("own", "web-2", 204),
            ("new", "web-2", 401),
        ):
            assert Watchers(source.port, secret).tell(host, status()) == answer, (secret, host)


@pytest.mark.parametrize("name", ["", "-limit", "web 0", "web,db", "*", "{{ a }}", "w\u00e9b", "a" * 300, "all:!b"])
def test_a_name_that_could_be_a_pattern_is_refused(name):
    with RunningSource(**QUICK) as source:
        watchers = Watchers(source.port)
        body, headers = watchers.notice("web-0", status(event()), 1)
        assert watchers.post(body, {**headers, "X-Maintenance-Host": name.encode().decode("latin-1")}) in (400, 401)


def test_what_is_no_notice_is_refused():
    with RunningSource(**{**QUICK, "secret": None}) as source:
        watchers = Watchers(source.port, secret=None)
        headers = {"X-Maintenance-Host": "web-0"}
        for body in (
            b"",
            b"{",
            b"[]",
            b'{"maintenance": 1}',
            b"[" * 100000,
            b"\xff",
            b'{"maintenance": {"host": "b"}}',
        ):
            assert watchers.post(body, headers) == 400, body
        assert watchers.tell("web-0", {"events": "none", "read_at": "2026-11-16T00:20:32Z"}) == 400
        assert watchers.post(b"", headers, "GET") == 405
        assert watchers.post(b"", {**headers, "Content-Length": "600000"}) == 413
        assert watchers.post(b"", {**headers, "X-Long": "a" * 60000}) == 431
        assert watchers.post(b"", {**headers, "Transfer-Encoding": "chunked", "Content-Length": "0"}) == 411
        assert not source.told


def test_one_host_that_does_not_stop_is_held_back_and_others_are_not():
    with RunningSource(**QUICK) as source:
        watchers = Watchers(source.port)
        answers = [watchers.tell("web-0", status()) for _number in range(40)]
        assert 429 in answers
        assert watchers.tell("web-1", status()) == 204


def test_many_who_say_nothing_hold_up_nobody():
    """From an address from which a notice was taken; unknown ones have fewer connections."""
    with RunningSource(**QUICK) as source, contextlib.ExitStack() as idle:
        watchers = Watchers(source.port)
        assert watchers.tell("web-0", status()) == 204
        for number in range(200):
            one = idle.enter_context(socket.create_connection(("127.0.0.1", source.port)))
            one.sendall(b"POST / HTTP/1.1\r\nContent-Length: 10\r\n" if number % 2 else b"")
        began = time.monotonic()
        assert watchers.tell("web-0", status()) == 204
        assert time.monotonic() - began < 60


def test_hosts_outlive_a_restart_and_one_that_died_meanwhile_is_told(tmp_path):
    kept = str(tmp_path / "eda" / "state.json")
    with RunningSource(**QUICK, state_file=kept) as source:
        watchers = Watchers(source.port)
        for name in ("web-0", "web-1"):
            watchers.tell(name, status(event("A", ("web-0", "web-1")), vm_name=name, scale_set="set-web"))
        source.wait_for(is_pending)
    assert (tmp_path / "eda" / "state.json").stat().st_mode & 0o777 == 0o600
    with RunningSource(**{**QUICK, "silent_after": 8}, state_file=kept) as source:
        watchers = Watchers(source.port)
        watchers.sequence = 10
        time.sleep(1)
        assert not source.told
        watchers.tell("web-0", status(event("A", ("web-0", "web-1")), vm_name="web-0", scale_set="set-web"))
        again = source.wait_for(is_pending)
        silent = source.wait_for(lambda told: told["state"] == "silent")
    assert (again["attempt"], again["hosts"], again["group"]) == (2, ["web-0", "web-1"], "set-web")
    assert silent["hosts"] == ["web-1"]


ODD_HOST = {"group": "g", "vm_name": "a", "newest": [1, 0], "read_at": None, "events": {}, "drained": False}
ODD_HOST.update(is_silent=False, odd_clock=None)
ODD_NUMBER = json.dumps({"version": 1, "hosts": {"a": ODD_HOST}, "events": []}).replace("[1, 0]", "[1, 1e999]")


@pytest.mark.parametrize(
    "content", ["", "{", '{"version": 1, "hosts": {"a": 1}, "events": []}', '{"version": 9}', ODD_NUMBER]
)
def test_a_damaged_file_is_told_in_the_log_and_holds_up_nothing(tmp_path, content, caplog):
    (tmp_path / "state.json").write_text(content)
    with RunningSource(**QUICK, state_file=str(tmp_path / "state.json")) as source:
        Watchers(source.port).tell("web-0", status(event()))
        source.wait_for(is_pending)
    assert "can't be used, so that no host is known yet" in caplog.text
    assert json.loads((tmp_path / "state.json").read_text())["hosts"]["web-0"]


def test_what_was_sent_before_a_restart_is_not_believed_after_it(tmp_path):
    """The signatures are not kept, and what is kept of a host may be older than its last notice."""
    kept = tmp_path / "state.json"
    with RunningSource(**QUICK, state_file=str(kept)) as source:
        watchers = Watchers(source.port)
        watchers.tell("web-0", status(event()), at=time.time() - 100)
        watchers.tell("web-1", status(event()))
        source.wait_for(is_pending)
        wait_until(lambda: kept.exists() and "web-1" in kept.read_text())
        as_it_was = kept.read_text()
        time.sleep(1.1)
        late = [watchers.notice("web-0", status(), 90, at=time.time() - 100), watchers.notice("web-1", status(), 91)]
        assert [watchers.post(*one) for one in late] == [204, 204]
    kept.write_text(as_it_was)
    time.sleep(3)
    with RunningSource(**QUICK, state_file=str(kept)) as source:
        watchers = Watchers(source.port)
        watchers.sequence = 100
        assert [watchers.post(*one) for one in late] == [409, 409]
        # A clock that is behind, as it was, is no reason; nor is one that was put right.
        assert watchers.tell("web-0", status(event()), at=time.time() - 100) == 204
        assert watchers.tell("web-0", status(event())) == 204
        assert watchers.tell("web-1", status(event())) == 204
        source.wait_for(is_pending)
        assert "over" not in [told["maintenance"]["state"] for told in source.told]


def nested(depth):
    value = 1
    for _time in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "odd",
    [
        {"other_fields": nested(12)},
        {"other_fields": {"a": float("nan")}},
        {"other_fields": {"a": 10**400}},
        {"duration_seconds": float("inf")},
        {"duration_seconds": 1e300},
        {"description": "half of a sign: \ud800"},
        {"description": "x" * 100_000},
    ],
)
def test_whatever_a_vm_adds_to_an_event_the_source_goes_on(odd, tmp_path):
    kept = str(tmp_path / "state.json")
    with RunningSource(**QUICK, state_file=kept) as source:
        watchers = Watchers(source.port)
        assert watchers.tell("liar", status(event("L", ("liar",), other_fields=nested(300)))) == 400
        assert watchers.tell("liar", status(event("L", ("liar",), **odd))) == 204
        told = source.wait_for(lambda told: told["hosts"] == ["liar"])
        assert watchers.tell("web-0", status(event(other_fields={"New": {"a": [1]}}))) == 204
        honest = source.wait_for(lambda told: told["hosts"] == ["web-0"])
    assert "other_fields" not in told["event"]
    assert told["event"]["duration_seconds"] in (5, None)
    assert len(json.dumps(told, allow_nan=False).encode()) < 10_000
    json.dumps(told, ensure_ascii=False).encode()
    assert honest["event"]["other_fields"] == {"New": {"a": [1]}}
    with RunningSource(**QUICK, state_file=kept):
        pass


def test_what_can_not_be_taken_is_answered_and_told_in_the_log_as_seldom_as_all_else(monkeypatch, caplog):
    with RunningSource(**QUICK) as source:
        module = sys.modules["ansible_collections.maintenance.azure.plugins.plugin_utils._eda.notices"]
        monkeypatch.setattr(module, "understand", lambda *_about: 1 // 0)
        answers = [Watchers(source.port).tell(f"web-{number}", status()) for number in range(12)]
    assert set(answers) == {500}
    assert 1 <= caplog.text.count("it could not be taken: ZeroDivisionError") <= 6


def test_of_a_document_without_end_what_comes_first_is_told_and_the_source_goes_on():
    many = [event(f"E{number}", ("web-0",), 9000 - number) for number in range(400)]
    with RunningSource(**QUICK) as source:
        assert Watchers(source.port).tell("web-0", status(*many)) == 204
        source.wait_for(is_pending)
        time.sleep(1)
        told = [one["maintenance"]["event"]["id"] for one in source.told]
    assert len(told) <= 25
    assert all(int(one[1:]) >= 200 for one in told)


def test_what_an_earlier_version_has_kept_does_not_end_the_source(tmp_path):
    kept = tmp_path / "state.json"
    with RunningSource(**QUICK, state_file=str(kept)) as source:
        Watchers(source.port).tell("web-0", status(event()))
        source.wait_for(is_pending)
    content = json.loads(kept.read_text())
    content["events"][0]["event"]["other_fields"] = nested(600)
    for name in ("newest_from", "behind", "called"):
        del content["hosts"]["web-0"][name]
    kept.write_text(json.dumps(content))
    with RunningSource(**{**QUICK, "remind": 1}, state_file=str(kept)) as source:
        assert source.wait_for(is_pending)["attempt"] == 2


def test_who_has_no_secret_takes_no_more_memory_than_his_share():
    """400 connections, each of which has sent nearly all of the largest notice."""
    port = free_port()
    command = [sys.executable, str(PLUGIN), json.dumps({"host": "127.0.0.1", "port": port, "secret": "s"})]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    connections = []
    try:
        wait_until(lambda: is_listening(port))
        before = resident_kilobytes(process.pid)
        content = b"POST / HTTP/1.1\r\nContent-Length: 524288\r\n\r\n" + b"x" * 524287
        for _number in range(400):
            one = socket.create_connection(("127.0.0.1", port))
            connections.append(one)
            with contextlib.suppress(OSError):
                one.settimeout(0.2)
                one.sendall(content)
        assert resident_kilobytes(process.pid) - before < 40_000
        for one in connections:
            one.close()
        wait_until(lambda: Watchers(port).tell("web-0", status()) == 204)
    finally:
        for one in connections:
            one.close()
        process.kill()
        process.wait()


def is_listening(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_one_address_has_no_more_connections_than_its_share(monkeypatch):
    with RunningSource(**QUICK) as source:
        module = sys.modules["ansible_collections.maintenance.azure.plugins.plugin_utils._eda.source"]
        held = module._Held(10, 4)
        assert [held.add("a", 1) for _number in range(5)] == [True] * 4 + [False]
        assert [held.add("b", 1) for _number in range(4)] == [True] * 4
        assert [held.add("c", 1) for _number in range(2)] == [True, False]
        for name in "aaaaabbbbcc":
            held.release(name, 1)
        assert [held.add("a", 1) for _number in range(4)] == [True] * 4

        def is_full(most, idle):
            # Who is silent is sent away after a while: on a slow machine the first before the last has come.
            idle += [socket.create_connection(("127.0.0.1", source.port)) for _number in range(most)]
            return Watchers(source.port).tell("web-0", status()) == 503

        # As an unknown sender, and as one that knows the secret.
        for most in (100, 500):
            idle = []
            wait_until(functools.partial(is_full, most, idle))
            for one in idle:
                one.close()
            wait_until(lambda: Watchers(source.port).tell("web-0", status()) == 204)


def test_silent_machines_without_a_secret_keep_no_signed_notice_out():
    """Two with as many connections as they get, and then as many as would take all that unknown ones have."""
    with RunningSource(**{**QUICK, "host": "0.0.0.0"}) as source, contextlib.ExitStack() as idle:
        known = Watchers(source.port)
        assert known.tell("web-0", status()) == 204

        def sit(machine, most):
            for _number in range(most):
                one = idle.enter_context(socket.socket())
                one.bind((f"127.0.1.{machine}", 0))
                one.connect(("127.0.0.1", source.port))

        for machine in (1, 2):
            # Of which the rest is turned away.
            sit(machine, 500)
        newcomer = http.client.HTTPConnection("127.0.0.1", source.port, source_address=("127.0.2.1", 0))
        newcomer.request("POST", "/", b"")
        assert newcomer.getresponse().status == 400
        for machine in (3, 4, 5):
            sit(machine, 100)
        assert [known.tell("web-0", status()) for _number in range(15)] == [204] * 15


def test_https(tmp_path):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        + ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        + ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "crt")],
        check=True,
        capture_output=True,
    )
    with RunningSource(**QUICK, certfile=str(tmp_path / "crt"), keyfile=str(tmp_path / "key")) as source:
        context = ssl.create_default_context(cafile=str(tmp_path / "crt"))
        assert Watchers(source.port, tls=context).tell("web-0", status(event())) == 204
        source.wait_for(is_pending)


def test_a_real_watcher_is_understood(tmp_path):
    with RunningSource(**QUICK) as source, Simulator({"vms": [{"name": "vm-0"}]}) as simulator:
        notify = [{"url": f"http://127.0.0.1:{source.port}/", "secret": "s"}]
        with Watcher(tmp_path, simulator.endpoint("vm-0"), name="web-0", notify=notify, heartbeat=1):
            simulator.add_event(id="A1", type="Reboot", resources=["vm-0"], notice=900)
            told = source.wait_for(is_pending)
    assert (told["hosts"], told["unwatched"], told["event"]["id"]) == (["web-0"], [], "A1")


def test_without_watchers_the_source_reads_by_itself():
    with Simulator({"vms": [{"name": "vm-0"}]}) as simulator:
        args = {"endpoints": [simulator.endpoint("vm-0")], "interval": 0.3, "settle": 0.3, "silent_after": 1}
        with RunningSource(**args) as source:
            simulator.add_event(id="A1", type="Reboot", resources=["vm-0"], notice=900)
            told = source.wait_for(is_pending)
            simulator.cancel("A1")
            source.wait_for(lambda told: told["state"] == "over")
            simulator.stop()
            silent = source.wait_for(lambda told: told["state"] == "silent")
    assert (told["hosts"], told["event"]["id"]) == (["vm-0"], "A1")
    assert silent["hosts"] == ["vm-0"]


def test_two_endpoints_whose_vms_have_one_name_are_two():
    with Simulator({"vms": [{"name": "vm-0", "key": "a"}, {"name": "vm-0", "key": "b"}]}) as simulator:
        simulator.add_event(id="A1", type="Reboot", resources=["a"], notice=9000)
        endpoints = [simulator.endpoint("b"), simulator.endpoint("a")]
        with RunningSource(endpoints=endpoints, interval=0.2, settle=0.3, remind=2, silent_after=60) as source:
            told = source.wait_for(lambda told: told["attempt"] == 2)
            assert {one["maintenance"]["state"] for one in source.told} == {"pending"}
    assert told["hosts"] == ["vm-0"]


def test_an_endpoint_that_never_answered_is_told_as_silent(tmp_path):
    port = free_port()
    given = {"endpoints": [f"http://127.0.0.1:{port}"], "interval": 0.3, "state_file": str(tmp_path / "state.json")}
    with RunningSource(**given, silent_after=1) as source:
        silent = source.wait_for(lambda told: told["state"] == "silent")
    assert (silent["hosts"], silent["group"]) == ([f"127.0.0.1-{port}"], f"group-of-127.0.0.1-{port}")
    # It is known after a restart as well, and told once.
    with RunningSource(**given, silent_after=1) as source:
        time.sleep(3)
        assert source.told == []


def test_without_a_secret_it_listens_on_loopback_only():
    with RunningSource(host=None) as source:
        assert Watchers(source.port, secret=None).tell("web-0", status(event())) == 204
        source.wait_for(is_pending)
    source = RunningSource(host="0.0.0.0")
    source._thread.start()
    source._thread.join(60)
    assert "without a secret anybody could speak for a host" in str(source.problem)


@pytest.mark.parametrize(
    ("given_arguments", "complaint"),
    [
        ({"ports": 1}, "there is no argument ports"),
        ({"port": "http"}, "port must be a number"),
        ({"port": 70000}, "port must be a number"),
        ({"settle": -1}, "settle must be a number of seconds"),
        ({"remind": 0}, "remind must be a number of seconds"),
        ({"silent_after": True}, "silent_after must be"),
        ({"secret": ""}, "secret must be a text, or a list of texts, and none of them empty"),
        ({"secret": ["a", ""]}, "none of them empty"),
        ({"secret": []}, "none of them empty"),
        ({"secrets": "a"}, "secrets must be a mapping"),
        ({"certfile": "a"}, "certfile and keyfile belong together"),
        ({"endpoints": "http://a"}, "endpoints must be a list"),
        ({"endpoints": ["https://a"]}, "plain http only"),
        ({"host": "192.0.2.1"}, "listens on loopback only"),
    ],
)
def test_what_can_not_be_used_is_said_in_a_sentence(given_arguments, complaint):
    with pytest.raises(BadArguments, match=complaint):
        arguments_of(given_arguments)


def test_the_documentation_has_every_argument_with_its_default():
    """Where there is no default nothing is said of one."""
    options = yaml.safe_load(runpy.run_path(str(PLUGIN))["DOCUMENTATION"])["options"]
    fields = {field.name: field.default for field in dataclasses.fields(SourceArguments)}
    assert list(options) == list(fields)
    for name, about in options.items():
        default = fields[name]
        has_none = default is None or default is dataclasses.MISSING or default == ()
        assert about.get("default") == (None if has_none else default), name


def test_the_examples_can_be_used():
    for example in yaml.safe_load(runpy.run_path(str(PLUGIN))["EXAMPLES"]):
        arguments_of(example["maintenance.azure.scheduled_events"])


def test_numbers_may_be_texts_as_a_template_makes_them():
    assert arguments_of({"port": "5011", "settle": "0.5", "secret": 123, "certfile": None}) == SourceArguments(
        port=5011, settle=0.5, secret=("123",)
    )


def test_who_has_no_secret_is_on_loopback_and_who_reads_by_itself_does_not_listen():
    assert arguments_of({}).host == "127.0.0.1"
    assert arguments_of({"secret": "s"}).host == "0.0.0.0"
    assert arguments_of({}).listens
    assert not arguments_of({"endpoints": ["http://127.0.0.1:1"]}).listens
    assert arguments_of({"endpoints": ["http://127.0.0.1:1"], "secret": "s"}).listens


@pytest.mark.parametrize(("version", "is_good"), [("1.1.7", False), ("1.2.0", True), ("1.10.0rc1", True), (None, True)])
def test_an_old_ansible_rulebook_is_refused(version, is_good):
    if is_good:
        check_rulebook(version)
    else:
        with pytest.raises(BadArguments, match=r"needs ansible-rulebook 1\.2\.0 or newer, not 1\.1\.7"):
            check_rulebook(version)


@given(st.lists(st.floats(0, 5), max_size=60))
def test_an_allowance_gives_so_many_at_once_and_so_many_a_second(pauses):
    allowance, now, taken = Allowance(5, 2), 0.0, []
    for pause in pauses:
        now += pause
        if allowance.takes("a", now):
            taken.append(now)
    for number, first in enumerate(taken):
        for count, last in enumerate(taken[number:], start=1):
            assert count <= 5 + (last - first) * 2 + 0.001


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 400)), max_size=40))
def test_a_signature_is_good_once_within_its_window(uses):
    seen, now, used = SeenSignatures(), 0.0, {}
    for name, pause in uses:
        now += pause
        fresh = seen.is_new(name, now + 300, now)
        if name in used and now <= used[name]:
            assert not fresh
        if fresh:
            used[name] = now + 300


@given(st.text(alphabet="{}%#a j", max_size=12) | st.just("#jinja2: variable_start_string: '[['"))
def test_nothing_that_is_told_is_a_template(text):
    safe = no_template({"a": [text]})["a"][0]
    environment = jinja2.Environment()
    assert environment.from_string(safe).render() == safe.removesuffix("\n")
    assert not safe.startswith("#jinja2:")
