# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics and alert rules as they are read; the audit file on a disk that is full."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.module_utils._drain import audit
from ansible_collections.maintenance.azure.plugins.module_utils._watch.metrics import metrics_text
from helpers.network import free_port
from helpers.simulator_process import Simulator, ask
from helpers.waiting import wait_until
from helpers.watcher_process import ROOT, Watcher

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
from ansible_collections.maintenance.azure.plugins.module_utils._drain import audit
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
print(audit.write(sys.argv[2], "approved", 0, event="y" * 50))
"""


@pytest.mark.parametrize("room", [0, 1, 20])
def test_a_line_that_was_cut_off_is_told_and_the_next_begins_anew(tmp_path, pytestconfig, room):
    path = tmp_path / "audit.jsonl"
    assert audit.write(str(path), "drained", 0, event="x")
    command = [sys.executable, "-c", FULL, str(pytestconfig.rootpath / ".build"), str(path)]
    command.append(str(path.stat().st_size + room))
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "False\n"
    assert audit.write(str(path), "returned to service", 0, event="z")
    assert audit.write(str(path), "drained", 0, event="x")
    lines = path.read_text().splitlines()
    whole = [line for line in lines if line.endswith("}")]
    assert [json.loads(line)["what"] for line in whole] == ["drained", "returned to service", "drained"]
    assert len(lines) - len(whole) == (room > 0)
    assert "" not in lines
