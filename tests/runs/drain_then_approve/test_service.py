# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many hosts stay in service, and who is told when something is left to do."""

from __future__ import annotations

import http.server
import json
import threading

import pytest
from helpers.fleet import RollFleet


@pytest.fixture
def fleet(tmp_path):
    with RollFleet(tmp_path, hosts=3) as built:
        yield built


def test_enough_hosts_stay_in_service(fleet):
    fleet.event_per_domain()
    run = fleet.roll("-e", "maintenance_min_in_service=2")
    assert run.code == 0, run.output
    assert sorted(fleet.approvals()) == ["E0", "E1", "E2"]
    fleet.assert_one_domain_at_a_time()


@pytest.mark.rest
def test_what_can_never_be_met_is_said_at_once(fleet):
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=1)
    run = fleet.roll("-e", "maintenance_min_in_service=100%", "-e", "maintenance_healthy_timeout=3600")
    assert run.code == 2
    assert fleet.notes() == []
    assert fleet.approvals() == []
    said = " ".join(run.output.split())
    assert "Not begun: event E0, as 2 hosts would be in service, and maintenance_min_in_service is 3" in said


@pytest.mark.rest
def test_only_hosts_of_the_same_service_count(fleet):
    """web-0 has a service of its own, of which nobody has to stay."""
    fleet.host_vars["web-0"]["maintenance_service"] = "batch"
    for host in ("web-1", "web-2"):
        fleet.host_vars[host]["maintenance_service"] = "shop"
    fleet.event_per_domain()
    run = fleet.roll("-e", "maintenance_min_in_service=50%", "-e", "maintenance_healthy_timeout=5")
    assert run.code == 2
    assert sorted(fleet.approvals()) == ["E1", "E2"]
    assert "hosts of batch would be in service" in " ".join(run.output.split())


@pytest.mark.rest
def test_hosts_that_a_limit_leaves_out_are_of_the_service_and_do_not_count_as_in_service(tmp_path):
    with RollFleet(tmp_path, hosts=6) as fleet:
        fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=1)
        wanted = ("-e", "maintenance_min_in_service=50%", "-e", "maintenance_healthy_timeout=3600")
        run = fleet.roll("--limit", "web-0,web-1", *wanted)
        assert (run.code, fleet.approvals(), fleet.notes()) == (2, [], [])
        said = " ".join(run.output.split())
        assert "Not begun: event E0, as 1 hosts would be in service, and maintenance_min_in_service is 3" in said
        assert fleet.roll("--limit", "web-0,web-1,web-2,web-3", *wanted).code == 0


class Webhook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.told.append(json.loads(body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_about):
        pass


@pytest.fixture
def webhook():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Webhook)
    server.told = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.rest
def test_somebody_is_told_when_something_is_left_to_do(fleet, webhook):
    url = f"http://127.0.0.1:{webhook.server_port}/told"
    fleet.simulator.add_event(id="E0", type="Reboot", resources=["web-0"], dwell=1)
    assert fleet.roll("-e", f"maintenance_failure_webhook={url}").code == 0
    assert webhook.told == []

    fleet.host_vars["web-1"]["drain_steps"] = [{"command": {"drain": "/bin/false"}}]
    fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-1"], dwell=1)
    assert fleet.roll("-e", f"maintenance_failure_webhook={url}").code == 2
    (told,) = webhook.told
    assert told["left"]["failed"] == ["web-1"]
    assert any("web-1" in line for line in told["lines"])


@pytest.mark.rest
def test_a_webhook_that_can_not_be_told_changes_nothing(fleet):
    fleet.host_vars["web-1"]["drain_steps"] = [{"command": {"drain": "/bin/false"}}]
    fleet.simulator.add_event(id="E1", type="Reboot", resources=["web-1"], dwell=1)
    run = fleet.roll("-e", "maintenance_failure_webhook=http://127.0.0.1:9/none")
    assert run.code == 2
    assert "Something is left to do, see above." in run.output
