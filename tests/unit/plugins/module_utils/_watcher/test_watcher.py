# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The watcher against the simulator and odd services: what its status and metrics say, and when there is one."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import HttpTransport
from ansible_collections.maintenance.azure.plugins.module_utils._host import audit as _audit
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import protocol as _protocol
from ansible_collections.maintenance.azure.plugins.module_utils._watcher import watch as _watch
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.watch import (
    LONGEST_CALL,
    VERSION,
    Reader,
    metrics_text,
)
from helpers.network import free_port
from helpers.simulator_process import Simulator, ask
from helpers.waiting import PATIENCE, wait_until
from helpers.watcher_process import ROOT, Watcher
from tools.pythons import find_pythons


@pytest.fixture
def watcher(tmp_path, simulator):
    with Watcher(tmp_path, simulator.endpoint("web-0")) as process:
        yield process


def test_the_status_is_that_of_everywhere_with_the_watcher_in_it(simulator, watcher):
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    simulator.add_event(id="B1", type="Freeze", resources=["web-1"], notice=900, duration=5)
    status = watcher.wait_for(lambda status: len(status["events"]) == 2)
    assert status["this_host"]["vm_name"] == "web-0"
    assert status["pending"]
    by_id = {event["id"]: event for event in status["events"]}
    assert by_id["A1"]["affects_this_host"] is True
    assert by_id["B1"]["affects_this_host"] is False
    assert by_id["A1"]["seconds_left"] > 800
    assert status["watcher"] == {
        "version": VERSION,
        "failing_since": None,
        "problem": None,
        "drained": False,
        "left_for_a_run": [],
    }
    assert watcher.status_file.stat().st_mode & 0o777 == 0o644


def test_the_version_is_the_collections():
    assert yaml.safe_load((ROOT / "galaxy.yml").read_text())["version"] == VERSION


def test_what_happens_to_an_event_is_seen(simulator, watcher):
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    watcher.wait_for(lambda status: [event["status"] for event in status["events"]] == ["Scheduled"])
    simulator.start("A1")
    watcher.wait_for(lambda status: [event["status"] for event in status["events"]] == ["Started"])
    simulator.finish("A1")
    assert not watcher.wait_for(lambda status: not status["events"])["pending"]


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "gone_410"},
        {"kind": "too_many_429", "retry_after": 1},
        {"kind": "error_503"},
        {"kind": "status", "status": 404},
        {"kind": "empty_200"},
        {"kind": "redirect", "location": "http://127.0.0.1:1/"},
        {"kind": "html"},
        {"kind": "truncated_json"},
        {"kind": "wrong_shape"},
        {"kind": "huge_body"},
        {"kind": "drop"},
        {"kind": "refuse", "seconds": 600},
    ],
    ids=lambda fault: fault["kind"],
)
def test_while_readings_fail_the_last_good_one_stays_and_afterwards_all_is_well(simulator, watcher, fault):
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    good = watcher.wait_for(lambda status: status["events"])
    simulator.fault(**fault)
    bad = watcher.wait_for(lambda status: status["watcher"]["problem"])
    turns = watcher.turns()
    simulator.clear_log()
    assert [event["id"] for event in bad["events"]] == ["A1"]
    assert bad["read_at"] >= good["read_at"]
    assert bad["watcher"]["failing_since"] is not None
    # Who refuses connections counts none: there it has waited for the next reading, again and again.
    refuses = fault["kind"] == "refuse"
    wait_until(lambda: watcher.turns() > turns + 4 if refuses else len(simulator.log()) > 1, watcher.errors)
    assert watcher.status()["read_at"] == bad["read_at"]
    simulator.cancel("A1")
    simulator.add_event(id="A2", type="Reboot", resources=["web-0"], notice=900)
    simulator.clear_faults()
    after = watcher.wait_for(lambda status: status["watcher"]["problem"] is None)
    assert [event["id"] for event in after["events"]] == ["A2"]
    assert after["watcher"]["failing_since"] is None
    said = watcher.errors().splitlines()
    assert len([line for line in said if line.startswith("No good reading")]) <= 3
    assert said[-1] == "Readings are good again"


def test_before_the_first_good_reading_there_is_no_status(tmp_path, simulator):
    simulator.fault(kind="error_503")
    with Watcher(tmp_path, simulator.endpoint("web-0")) as watcher:
        wait_until(lambda: len(simulator.log()) > 3)
        assert watcher.status() is None
        simulator.clear_faults()
        watcher.wait_for(lambda status: status["this_host"])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_when_it_ends_the_status_goes(simulator, watcher, number):
    watcher.wait_for(lambda status: True)
    watcher.process.send_signal(number)
    assert watcher.process.wait(PATIENCE) == 0
    assert watcher.status() is None
    assert sorted(path.name for path in watcher.folder.iterdir()) == ["lib", "stderr", "watch", "watch.json"]


def test_it_ends_at_once_also_in_a_call_that_hangs(simulator, tmp_path):
    simulator.fault(kind="hang", seconds=600)
    with Watcher(tmp_path, simulator.endpoint("web-0")) as watcher:
        wait_until(simulator.log)
        began = time.monotonic()
        assert watcher.stop() == 0
        # It would have waited for more than two minutes.
        assert time.monotonic() - began < LONGEST_CALL / 2


def test_what_one_that_was_killed_has_left_is_not_believed(simulator, tmp_path):
    with Watcher(tmp_path, simulator.endpoint("web-0")) as first:
        first.wait_for(lambda status: True)
        first.kill()
        assert first.status() is not None
    simulator.fault(kind="error_503")
    simulator.clear_log()
    with Watcher(tmp_path, simulator.endpoint("web-0")) as second:
        wait_until(lambda: len(simulator.log()) > 3)
        assert second.status() is None


def test_after_it_stood_still_it_goes_on(simulator, watcher):
    watcher.wait_for(lambda status: True)
    watcher.process.send_signal(signal.SIGSTOP)
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    watcher.process.send_signal(signal.SIGCONT)
    watcher.wait_for(lambda status: status["events"])


def test_the_journal_says_whether_the_host_is_drained(simulator, watcher):
    watcher.wait_for(lambda status: not status["watcher"]["drained"])
    (watcher.folder / "journal.json").write_text("{}")
    (watcher.folder / "journal.json").chmod(0)
    watcher.wait_for(lambda status: status["watcher"]["drained"])


def test_the_newest_version_that_is_there_is_found(tmp_path):
    with Simulator({"vms": [{"name": "web-0"}]}, api_versions=["2019-08-01"]) as simulator:
        simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
        with Watcher(tmp_path, simulator.endpoint("web-0"), api_version="auto") as watcher:
            watcher.wait_for(lambda status: status["events"])


def test_a_version_that_never_shows_some_types_is_told_by_name(tmp_path):
    simulator = Simulator({"vms": [{"name": "web-0"}]}, api_versions=["2017-08-01"])
    with simulator, Watcher(tmp_path, simulator.endpoint("web-0"), api_version="auto") as watcher:
        watcher.wait_for(lambda status: status["this_host"])
        assert watcher.errors().count("api-version 2017-08-01 never shows Preempt and Terminate events") == 1


def test_a_version_that_was_answered_stays_whatever_the_service_says_later(simulator, tmp_path):
    """An older one hides events, which then would be over."""
    simulator.add_event(id="P1", type="Preempt", resources=["web-0"], notice=900)
    with Watcher(tmp_path, simulator.endpoint("web-0"), api_version="auto") as watcher:
        watcher.wait_for(lambda status: status["events"])
        simulator.fault(kind="status", status=400, path="scheduledevents", count=5)
        wait_until(lambda: sum(line["status"] == 400 for line in simulator.log()) == 5)
        simulator.add_event(id="T1", type="Terminate", resources=["web-0"], notice=900)
        status = watcher.wait_for(lambda status: len(status["events"]) != 1)
        assert {event["id"] for event in status["events"]} == {"P1", "T1"}
    asked = {line["query"] for line in simulator.log() if line["path"].endswith("scheduledevents")}
    assert asked == {"api-version=2020-07-01"}


def test_a_name_that_was_given_is_not_asked_for(simulator, tmp_path):
    with Watcher(tmp_path, simulator.endpoint("web-0"), vm_name="WEB-1") as watcher:
        simulator.add_event(id="A1", type="Reboot", resources=["web-1"], notice=900)
        status = watcher.wait_for(lambda status: status["events"])
        assert status["events"][0]["affects_this_host"] is True
        assert status["this_host"] is None
    assert {line["path"] for line in simulator.log()} == {"/metadata/scheduledevents"}


def test_a_name_that_the_service_does_not_tell_at_first_is_asked_for_again_soon(simulator, tmp_path):
    simulator.fault(kind="error_503", path="instance", count=1)
    with Watcher(tmp_path, simulator.endpoint("web-0")) as watcher:
        watcher.wait_for(lambda status: status["this_host"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a JSON object"),
        ("{}", "does not say what this host is called"),
        ('{"name": "x\\ny"}', "can't be part of a header"),
        ('{"name": "x", "interval": "1"}', "must be a number of seconds"),
        ('{"name": "x", "notify": [{"secret": "s"}]}', "must be a list of addresses"),
    ],
)
def test_settings_that_can_not_be_used_are_named(tmp_path, content, said):
    watcher = Watcher(tmp_path, "http://127.0.0.1:1")
    watcher.config.write_text(content)
    assert watcher.start().process.wait(PATIENCE) == 2
    assert said in watcher.errors()


@pytest.mark.parametrize("version", [v for v in find_pythons() if int(v.split(".")[1]) >= 6])
def test_every_python(version, simulator, tmp_path):
    simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=900)
    with Watcher(tmp_path, simulator.endpoint("web-0"), python=find_pythons()[version]) as watcher:
        assert watcher.wait_for(lambda status: status["events"])["watcher"]["version"] == VERSION
        assert watcher.stop() == 0
    assert watcher.errors() == ""
    assert json.loads(watcher.config.read_text())["name"] == "host-1"


# Answers that nobody expects: none ends the watch, and none is taken for "no events".

EVENT = {
    "EventId": "A1",
    "EventType": "Reboot",
    "EventStatus": "Scheduled",
    "ResourceType": "VirtualMachine",
    "Resources": ["web-0"],
    "NotBefore": "",
    "DurationInSeconds": 5,
}


def document(incarnation, **fields):
    return json.dumps({"DocumentIncarnation": incarnation, "Events": [{**EVENT, **fields}]}).encode()


def http(body, status="200 OK", *fields):
    head = "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields))
    return f"{head}\r\n".encode("latin-1") + body


GOOD = http(document(1))
# Deeper than any Python reads: some read thousands.
DEEP = 100_000


class Service:
    """Says to each connection what `says` is at the moment."""

    def __init__(self):
        self.says = GOOD
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _peer = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                connection.sendall(self.says)


class Others:
    """In place of reflexes and of those who are told."""

    def __init__(self):
        self.problems = []
        self.turns = 0

    def go_on(self, *_about):
        self.turns += 1
        for problem in self.problems:
            raise problem

    def left_for_a_run(self):
        return []

    def approvals(self):
        return 0


@pytest.fixture
def service():
    found = Service()
    yield found
    found.listener.close()


@pytest.fixture
def watch(tmp_path, service):
    given = {"name": "h", "status_file": str(tmp_path / "status.json"), "journal": str(tmp_path / "journal.json")}
    settings = {**_protocol.DEFAULTS, **given, "metrics_file": str(tmp_path / "azure.prom")}
    transport = HttpTransport(f"http://127.0.0.1:{service.listener.getsockname()[1]}")
    found = _watch.Watch(settings, Reader([transport], "2020-07-01", "web-0"), Others(), Others())
    found.look()
    return found


def status_of(watch):
    return json.loads(Path(watch.status_file.path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(http(b"x", "429 Slow", "Retry-After: \u00b2"), id="a Retry-After that only looks like a number"),
        pytest.param(http(b"x", "503 Busy", "Retry-After: " + 5000 * "9"), id="a Retry-After of 5000 digits"),
        pytest.param(http(b"x", "429 Slow", "Retry-After: Nov Mon, , 1"), id="a Retry-After that is no date"),
        pytest.param(http(b"x", "\u00b2\u00b2\u00b2 X"), id="a status that only looks like a number"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1_0\r\n\r\n" + 10 * b"x", id="a length with an underscore"),
        pytest.param(http(b"[" * DEEP), id="nested without end"),
        pytest.param(http(document(2).replace(b'"A1"', b'"A1", "New": ' + b"[" * DEEP + b"]" * DEEP)), id="deep field"),
    ],
)
def test_a_bad_answer_leaves_the_last_good_one(service, watch, answer):
    service.says = answer
    watch.look()
    status = status_of(watch)
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert status["document_incarnation"] == 1
    assert status["watcher"]["problem"]
    watch.reader._not_before = None
    service.says = http(document(3))
    watch.look()
    assert status_of(watch)["document_incarnation"] == 3
    assert status_of(watch)["watcher"]["problem"] is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(document(2).replace(b": 5", b": 1e999"), id="a duration without end"),
        pytest.param(document(2, NotBefore="Mon, 16 Nov 2026 00:00:00 +99999999999999999999"), id="a huge offset"),
        pytest.param(document(2, NotBefore="0001-01-01T00:00:00+23:00"), id="before the first year"),
        pytest.param(document(2, NotBefore="Nov Mon, , " + 70 * "1"), id="no date"),
        pytest.param(document(2, EventType="\ud800"), id="half of a pair of surrogates"),
    ],
)
def test_a_field_that_says_nothing_does_not_keep_back_the_event(service, watch, body):
    service.says = http(body)
    watch.look()
    status = status_of(watch)
    assert status["document_incarnation"] == 2
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert status["watcher"]["problem"] is None
    assert "azure_maintenance_events{" in Path(watch.metrics_file.path).read_text(encoding="utf-8")


def test_what_nobody_has_thought_of_is_a_problem_and_not_the_end(service, watch, monkeypatch, capsys):
    def surprise(_answer):
        raise LookupError("nobody has thought of it")

    monkeypatch.setattr(watch.reader, "_take", surprise)
    watch.look()
    watch.look()
    status = status_of(watch)
    assert [event["id"] for event in status["events"]] == ["A1"]
    assert "nobody has thought of it" in status["watcher"]["problem"]
    assert capsys.readouterr().err.count("nobody has thought of it") == 1


@pytest.mark.parametrize("part", ["notices", "reflexes"])
def test_one_that_can_not_be_started_holds_up_nobody_and_is_told_once(service, watch, capsys, part):
    getattr(watch, part).problems = [OSError(errno.EAGAIN, "Resource temporarily unavailable")]
    service.says = http(document(2))
    watch.look()
    watch.look()
    assert status_of(watch)["document_incarnation"] == 2
    assert watch.notices.turns == watch.reflexes.turns == 3
    assert capsys.readouterr().err.count("Resource temporarily unavailable") == 1


def test_a_log_that_can_not_be_written_is_no_reason_to_end(monkeypatch):
    class Full:
        def write(self, _text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stderr", Full())
    _watch.say("something")


# Metrics and alert rules as they are read; the audit file on a disk that is full.

# The metrics as node_exporter reads them, and the alert rules that are made for them.

OBSERVABILITY = ROOT / "extensions" / "observability"
LINE = re.compile(r'(azure_maintenance_\w+)(\{type="[^\n]*",status="[^\n]*"\})? (-?[0-9.e+]+)')


def parsed(text):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(LINE.fullmatch(line) for line in lines), text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def event(kind="Reboot", status="Scheduled", left=60, mine=True):
    return {"type": kind, "status": status, "seconds_left": left, "affects_this_host": mine}


def test_events_of_this_host_are_counted_by_type_and_status():
    events = [event(), event(left=30), event("Freeze", "Started", None), event(mine=False), event('a"b\n\\', left=90)]
    found = parsed(metrics_text(events, 5.5, 3, True, 2))
    assert found == {
        'azure_maintenance_events{type="Reboot",status="Scheduled"}': 2,
        'azure_maintenance_events{type="Freeze",status="Started"}': 1,
        'azure_maintenance_events{type="a\\"b\\n\\\\",status="Scheduled"}': 1,
        "azure_maintenance_next_event_seconds": 30,
        "azure_maintenance_last_reading_timestamp_seconds": 5.5,
        "azure_maintenance_reading_failures_total": 3,
        "azure_maintenance_drained": 1,
        "azure_maintenance_approvals_total": 2,
    }


def test_what_is_not_known_is_left_out():
    assert set(parsed(metrics_text(None, None, 7, False, 0))) == {
        "azure_maintenance_reading_failures_total",
        "azure_maintenance_drained",
        "azure_maintenance_approvals_total",
    }


def test_a_watcher_writes_them_and_takes_them_along(tmp_path):
    with Simulator({"vms": [{"name": "web-0"}]}) as simulator:
        path = tmp_path / "azure_maintenance.prom"
        with Watcher(tmp_path, simulator.endpoint("web-0"), metrics_file=str(path)) as watcher:
            watcher.wait_for(lambda status: status["this_host"])
            simulator.add_event(id="A1", type="Reboot", resources=["web-0"], notice=9000)
            wait_until(lambda: path.exists() and 'type="Reboot"' in path.read_text())
            found = parsed(path.read_text())
        assert not path.exists()
    assert found['azure_maintenance_events{type="Reboot",status="Scheduled"}'] == 1
    assert found["azure_maintenance_next_event_seconds"] > 8000


def test_alerts_use_metrics_that_there_are():
    names = set(re.findall(r"azure_maintenance_\w+", metrics_text([], 1, 0, False, 0)))
    rules = yaml.safe_load((OBSERVABILITY / "alerts.yml").read_text())["groups"][0]["rules"]
    used = {name for rule in rules for name in re.findall(r"azure_maintenance_\w+", rule["expr"])}
    assert len(rules) >= 4
    assert used
    assert used <= names


def test_the_dashboard_uses_metrics_that_there_are():
    names = set(re.findall(r"azure_maintenance_\w+", metrics_text([], 1, 0, False, 0)))
    panels = json.loads((OBSERVABILITY / "dashboard.json").read_text())["panels"]
    used = {name for panel in panels for name in re.findall(r"azure_maintenance_\w+", panel["targets"][0]["expr"])}
    assert used == names


@pytest.mark.skipif(
    not shutil.which("prometheus-node-exporter"), reason="needs prometheus-node-exporter, of the package of that name"
)
def test_node_exporter_serves_them(tmp_path):
    port = free_port("127.0.0.1")
    (tmp_path / "textfile").mkdir()
    # As the role does it: a link to the file beside the status.
    (tmp_path / "textfile" / "azure_maintenance.prom").symlink_to(tmp_path / "azure_maintenance.prom")
    events = [event(), event('odd "type"\n', "Started", None)]
    (tmp_path / "azure_maintenance.prom").write_text(metrics_text(events, 5.5, 3, True, 2))
    command = ["prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile"]
    command += [f"--collector.textfile.directory={tmp_path / 'textfile'}", f"--web.listen-address=127.0.0.1:{port}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as exporter:
        try:
            answers = []

            def answered():
                with contextlib.suppress(OSError):
                    answers.append(ask(f"http://127.0.0.1:{port}/metrics").body.decode())
                return answers

            wait_until(answered)
        finally:
            exporter.terminate()
    assert "node_textfile_scrape_error 0" in answers[0]
    served = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in answers[0].splitlines()}
    assert served['azure_maintenance_events{status="Scheduled",type="Reboot"}'] == "1"
    assert served['azure_maintenance_events{status="Started",type="odd \\"type\\"\\n"}'] == "1"
    assert served["azure_maintenance_drained"] == "1"
    assert served["azure_maintenance_approvals_total"] == "2"
    assert "# TYPE azure_maintenance_approvals_total counter" in answers[0]


@pytest.mark.skipif(not shutil.which("promtool"), reason="needs promtool, of the package prometheus")
def test_the_alerts_do_what_they_say():
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]):
        subprocess.run(["promtool", *words], cwd=OBSERVABILITY, check=True)


# The record of a host on a disk that is full: a line is there as a whole or not at all, and never part of another.

# What a disk that fills up in a line is like: so many bytes, and no more.
FULL = """
import resource, signal, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.maintenance.azure.plugins.module_utils._host import audit as _audit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
print(_audit.write(sys.argv[2], "approved", 0, event="y" * 50))
"""


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_line_that_was_cut_off_is_told_and_the_next_begins_anew(tmp_path, pytestconfig, room):
    path = tmp_path / "audit.jsonl"
    assert _audit.write(str(path), "drained", 0, event="x")
    command = [sys.executable, "-c", FULL, str(pytestconfig.rootpath / ".build"), str(path)]
    command.append(str(path.stat().st_size + room))
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert _audit.write(str(path), "returned to service", 0, event="z")
    assert _audit.write(str(path), "drained", 0, event="x")
    lines = path.read_text().splitlines()
    whole = [line for line in lines if line.endswith("}")]
    assert [json.loads(line)["what"] for line in whole] == ["drained", "returned to service", "drained"]
    assert len(lines) - len(whole) == (room > 0)
    assert "" not in lines
