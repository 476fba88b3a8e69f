# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told, at the terminal and in the file, is fit for a bug report: there is no secret in it."""

from __future__ import annotations

import json

import pytest
from ansible_run import inventory
from check_run import check

SECRETS = [f"hunter{number}-secret" for number in range(7)]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Each of these mistakes has a complaint that would quote what was given."""
    folder = tmp_path_factory.mktemp("secrets")
    patroni = {"url": f"http://me:{SECRETS[0]}@127.0.0.1:8008 ", "password": SECRETS[1]}
    webhook = {"url": "not an address", "headers": {"Authorization": f"Bearer {SECRETS[2]}"}}
    steps = {
        "url": [{"failover": {"patroni": patroni}}],
        "dict": [{"command": {"drain": {"password": SECRETS[3]}}}],
        "header": [{"log": {"message": "x", "webhook": webhook}}],
        "line": [{"command": {"drain": ["/nonexistent/leave", "--token", SECRETS[4]]}}],
        "list": [f"{{{{ api_token }}}} {SECRETS[5]}"],
    }
    hosts = {
        name: {"drain_steps": own, "drain_journal": str(folder / "journal.json"), "api_token": SECRETS[5]}
        for name, own in steps.items()
    }
    hosts["endpoint"] = {
        "drain_journal": str(folder / "journal.json"),
        "drain_steps": [{"command": {"drain": "true"}}],
        "maintenance_endpoint": f"http://127.0.0.1:1?sig={SECRETS[6]}",
    }
    return check(folder, inventory(folder, hosts), check_service=True)


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_told(found, secret):
    assert secret not in json.dumps(found.report)
    shown = "\n".join(found.run.of("Say what was found")["msg"])
    assert secret not in shown


def test_the_mistakes_are_told_all_the_same(found):
    for host in ("url", "dict", "header", "list"):
        assert found.verdict(host, "drain steps") == "bad"
    assert "(hidden)" in found.of("dict", "drain steps")["seen"]
    assert found.verdict("line", "step 1 (command): command /nonexistent/leave") == "bad"
    assert found.verdict("endpoint", "endpoint") == "bad"


def test_all_of_what_was_printed_is_clean(found):
    for secret in SECRETS:
        assert secret not in found.run.output
