# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told of findings: the worst counts, one line a point, and no secrets."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.findings import (
    Finding,
    bad,
    doubtful,
    good,
    lines_of,
    make_check_report,
    worst,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.secrets import (
    Scrubber,
    secret_leaves,
    used_names,
)

FINE = good("way", "Python", "3.11")
ODD = doubtful("plan", "policy", "rule 2", "Look")
WRONG = bad("state", "journal", "left", "Run it")


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [([], "good"), ([FINE], "good"), ([ODD, FINE], "doubtful"), ([FINE, WRONG, ODD], "bad")],
)
def test_the_worst_counts(findings, verdict):
    assert worst(findings) == verdict
    assert make_check_report({"a": findings}, [], [], Scrubber())["verdict"] == verdict
    assert make_check_report({}, findings, [], Scrubber())["verdict"] == verdict


def test_one_line_a_point_in_the_order_of_areas():
    report = make_check_report({"web-10": [ODD, FINE], "web-9": []}, [WRONG], [{"fact": "F", "why": "W"}], Scrubber())
    assert lines_of(report) == [
        "good     web-10, way: Python: 3.11",
        "doubtful web-10, plan: policy: rule 2. Look.",
        "bad      the fleet, state: journal: left. Run it.",
        "not looked at: F: W",
        "The fleet is not ready: 1 good, 1 doubtful, 1 bad.",
    ]
    assert list(report["hosts"]) == ["web-9", "web-10"]


def test_a_line_stays_one_line_whatever_a_host_says():
    nasty = bad("way", "reach", "a\nb\x1b[31mc\u2028d " + "x" * 2000, "Look")
    (line, _summary) = lines_of(make_check_report({"a": [nasty]}, [], [], Scrubber()))
    assert line.isprintable()
    assert len(line) < 700


def test_findings_travel_as_data():
    for finding in (FINE, ODD, Finding("facts", "F [D]", "good", "400", "", "400")):
        assert Finding.from_data(json.loads(json.dumps(finding.as_data()))) == finding


VARIABLES = {
    "ansible_password": "hunter2-a",
    "vault_of_db": "hunter2-b",
    "drain_steps": [
        {"failover": {"patroni": {"username": "boss", "password": "hunter2-c"}}},
        {"log": {"message": "hello", "webhook": {"url": "u", "headers": {"X-Key": "hunter2-d"}}}},
    ],
    "api_token": ["hunter2-e", {"deep": "hunter2-f"}],
    "AZURE_CLIENT_SECRET": 123456789,
    "harmless": "web-0",
}


def test_values_of_what_is_named_like_a_secret_are_hidden():
    scrubber = Scrubber(map(str, secret_leaves(VARIABLES)))
    text = "x".join(f" hunter2-{letter} " for letter in "abcdef") + "123456789 web-0 hello boss"
    clean = scrubber.without_secrets(text)
    assert "hunter2" not in clean
    assert "123456789" not in clean
    assert clean.endswith("web-0 hello boss")


@pytest.mark.parametrize("text", ["hunter2'\"\\x", "hunter2-line-1\nhunter2-line-2\n", " hunter2-spaces ", "hunter2-ä"])
def test_a_secret_is_hidden_however_it_is_written(text):
    scrubber = Scrubber([text])
    for written in (text, repr(text), json.dumps(text), json.dumps(text, ensure_ascii=False), " ".join(text.split())):
        assert "hunter2" not in scrubber.without_secrets(f"not {written}.")


def test_what_is_short_is_not_torn_out_of_words():
    assert Scrubber(["abc", "a\nb", ""]).without_secrets("abc a b") == "abc a b"


def test_what_is_used_is_found_through_templates():
    variables = {
        "drain_steps": [{"command": {"drain": ["leave", "{{ token_of_ring }}"]}}, {"{{ no_key }}": 1}],
        "token_of_ring": "{{ 'x' ~ vault.ring }}",
        "vault": {"ring": "{% if a %}{{ lookup('env', 'TOKEN') }}{% endif %}"},
        "a": "{{ drain_steps }}",
        "maintenance_hosts": "web",
        "web": "{{ not_used }}",
        "not_used": "x",
        "no_key": "x",
        "hostvars": {"other": "{{ not_used }}"},
        "restore_health": [{"uri": {"url": "{{ hostvars.other.secret }}"}}],
        "secret": "s",
    }
    assert used_names(variables) == {
        *("drain_steps", "token_of_ring", "vault", "a", "maintenance_hosts", "restore_health", "secret"),
    }


def test_secrets_in_addresses_are_hidden():
    clean = Scrubber().without_secrets("http://me:pw@host/x?sig=abc%2Bdef&a=b failed")
    assert clean == "http://(hidden)@host/x?sig=(hidden)&a=b failed"
