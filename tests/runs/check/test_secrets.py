# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is told, at the terminal and in the file, is fit for a bug report: there is no secret in it."""

from __future__ import annotations

import json
import subprocess

import pytest
from helpers.ansible_run import environment, inventory
from helpers.check_run import check

pytestmark = pytest.mark.rest

SECRETS = [f"hunter{number}-secret" for number in range(10)]
VAULT, ENVIRONMENT, OF_A_MACHINE = SECRETS[7:]


def in_a_vault(folder, names):
    """Gives hosts a variable from a vault, and tells how to open that. `names`: host -> name of the variable."""
    password = folder / "vault-password"
    password.write_text("the password of the vault")
    password_file = ["--vault-password-file", str(password)]
    (folder / "host_vars").mkdir()
    for host, name in names.items():
        command = ["ansible-vault", "encrypt_string", *password_file, VAULT, "--name", name]
        written = subprocess.run(command, check=True, capture_output=True, text=True, env=environment(folder))
        (folder / "host_vars" / f"{host}.yml").write_text(written.stdout)
    return password_file


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
    # A command that is not there is told by its name.
    quoted = [{"command": {"drain": ["{{ api_token }}", "x"]}}]
    usual = {"drain_journal": str(folder / "journal.json")}
    hosts["vault"] = {**usual, "drain_steps": quoted}
    hosts["vault-by-any-name"] = {**usual, "drain_steps": [{"command": {"drain": ["{{ ring }}"]}}]}
    hosts["vault-list"] = {**usual, "drain_steps": ["{{ api_token }} "]}
    hosts["environment"] = {**usual, "api_token": "{{ lookup('env', 'RING_TOKEN') }}", "drain_steps": quoted}
    hosts["deep"] = {
        **usual,
        "ring": {"token": "{{ lookup('env', 'RING_TOKEN') }}"},
        "drain_steps": [{"services": {"names": ["{{ ring.token }} "]}}],
    }
    made = folder / "made"
    hosts["not-used"] = {
        **usual,
        "drain_steps": [{"command": {"drain": "true"}}],
        "ring_password": f"{{{{ lookup('ansible.builtin.password', '{made}') }}}}",
    }
    path = {"backend": "b", "server": "s", "host": "lb", "socket": f"/nonexistent/{OF_A_MACHINE}"}
    hosts["behind"] = {**usual, "drain_steps": [{"load_balancer": {"haproxy": path}}]}
    machines = {"lb": {"machine_secret": OF_A_MACHINE, "drain_records": str(folder / "records")}}
    listed = inventory(folder, {**hosts, **machines})
    settings = {"RING_TOKEN": ENVIRONMENT}
    hidden = in_a_vault(folder, {"vault": "api_token", "vault-list": "api_token", "vault-by-any-name": "ring"})
    told = check(folder, listed, *hidden, settings=settings, check_service=True, maintenance_hosts=",".join(hosts))
    # To look for secrets must not make one.
    assert not made.exists()
    return told


@pytest.mark.parametrize("secret", SECRETS)
def test_no_secret_is_told(found, secret):
    assert secret not in json.dumps(found.report)
    shown = "\n".join(found.run.of("Report what was found")["msg"])
    assert secret not in shown


def test_the_mistakes_are_told_all_the_same(found):
    for host in ("url", "dict", "header", "list"):
        assert found.verdict(host, "drain steps") == "bad"
    for host in ("dict", "list", "vault-list"):
        assert found.of(host, "drain steps")["seen"].endswith(("not a mapping", "not a text"))
    for host in ("vault", "vault-by-any-name", "environment"):
        assert found.of(host, "step 1 (command): command (hidden)")["verdict"] == "bad"
    assert "'(hidden) ' can't be the name of a unit" in found.of("deep", "drain steps")["seen"]
    assert found.verdict("the fleet", "step 1 (load_balancer): path /nonexistent/(hidden)") == "bad"
    assert found.verdict("line", "step 1 (command): command /nonexistent/leave") == "bad"
    assert found.verdict("endpoint", "endpoint") == "bad"


def test_all_of_what_was_printed_is_clean(found):
    for secret in SECRETS:
        assert secret not in found.run.output


def test_what_a_host_returned_is_clean(found):
    for told in found.run.everywhere("Look at the host").values():
        findings = json.dumps(told["findings"])
        assert not [secret for secret in SECRETS if secret in findings and secret != OF_A_MACHINE]
