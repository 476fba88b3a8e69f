# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Windows hosts answer, and judged again what they show right before an approval."""

from __future__ import annotations

import http.server
import json
import threading
import types
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import exchange as _exchange
from helpers.windows_double import actions
from helpers.windows_double.actions import BehindAnAction
from helpers.windows_double.machine import Machine
from helpers.windows_double.recorded import CASES, FOLDER, differences

# An approval is a look, and a call that compares and sends. What a look shows is good for some seconds only.

DOCUMENT = json.dumps({"DocumentIncarnation": 1, "Events": []})
READ = ["boot", "send"]
COMPARE_AND_SEND = ["boot", "send", "send"]
SEND = ["boot", "send"]


class Service:
    """Answers each GET with what comes next, and takes what is sent."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.approvals = 0


@pytest.fixture
def endpoint():
    """An address, and the service there: `endpoint.service` may be set."""
    place = types.SimpleNamespace(service=Service())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.tell(*place.service.answers.pop(0))

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            place.service.approvals += 1
            self.tell(200, "")

        def tell(self, status, text):
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_about):
            """Nothing is said about it."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield place
        server.shutdown()


class Host(BehindAnAction):
    def ask(self, url, **more):
        request = {"endpoints": [url], "api_version": "2020-07-01", "with_instance": False, "timeout": 30, **more}
        return self.run(_exchange, request)

    def approve(self, url):
        return self.ask(url, approval={"body": "{}", "expected": DOCUMENT})


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def blanks(number):
    return 200, DOCUMENT + " " * number


def test_the_host_compares_and_sends_in_one_call(host, endpoint):
    endpoint.service = Service(blanks(1), blanks(1))
    assert host.approve(endpoint.url)["answers"]["sent"]
    assert (host.calls, endpoint.service.approvals) == ([READ, COMPARE_AND_SEND], 1)


@pytest.mark.parametrize("answer", [(200, DOCUMENT + "  "), (503, ""), (200, "")])
def test_after_other_bytes_a_document_that_is_judged_anew_is_enough(host, endpoint, answer):
    endpoint.service = Service(blanks(1), answer, blanks(3))
    assert host.approve(endpoint.url)["answers"]["sent"]
    assert (host.calls, endpoint.service.approvals) == ([READ, COMPARE_AND_SEND, READ, SEND], 1)


def test_another_document_is_judged_and_nothing_sent(host, endpoint):
    other = 200, DOCUMENT.replace("1", "2")
    endpoint.service = Service(blanks(1), other, other)
    answers = host.approve(endpoint.url)["answers"]
    assert (answers["sent"], answers["events"]["body"]) == (False, other[1])
    assert (host.calls, endpoint.service.approvals) == ([READ, COMPARE_AND_SEND, READ], 0)


def test_what_was_seen_too_long_ago_is_looked_at_anew(host, endpoint):
    """The call that is to send comes late: the host does nothing."""
    host.meanwhile[3] = lambda: host.machine.is_up_for(host.machine.uptime() + 30)
    endpoint.service = Service(*map(blanks, range(4)))
    assert host.approve(endpoint.url)["answers"]["sent"]
    assert host.calls == [READ, COMPARE_AND_SEND, READ, SEND, READ, SEND]
    assert endpoint.service.approvals == 1


def test_a_boot_in_between_is_no_reason_to_compare_less(host, endpoint):
    host.meanwhile[1] = host.machine.reboot
    endpoint.service = Service(*[blanks(1)] * 3)
    assert host.approve(endpoint.url)["answers"]["sent"]
    assert host.calls == [READ, COMPARE_AND_SEND] * 2


def test_something_else_that_answers_is_a_failure(host, endpoint):
    endpoint.service = Service(blanks(1), (200, "<html>"), (200, "<html>"))
    answer = host.approve(endpoint.url)
    assert (answer["failed"], answer["kind"]) == (True, "html")
    assert endpoint.service.approvals == 0


# The double answers what a real PowerShell answered, case by case.


def test_the_double_answers_as_powershell_did(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.is_up_for(2918.8, counts=False)
    assert differences(machine.real(FOLDER), lambda asked, check_mode: actions.done(machine, asked, check_mode)) == []
    assert len(CASES) == 22
