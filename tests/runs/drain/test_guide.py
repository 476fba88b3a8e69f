# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in docs/drain-steps.md, as they stand there, with the addresses and paths of this test in them."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.kinds import SPECS
from ansible_collections.maintenance.azure.plugins.plugin_utils._drain.steps import checked_steps
from helpers import ROOT
from helpers.ansible_run import inventory, play

pytestmark = pytest.mark.rest
GUIDE = ROOT / "docs" / "drain-steps.md"
PROGRAMS = ["leave-ring", "join-ring", "hand-over", "take-over", "is-handed-over", "save-state", "load-state"]
# Each program leaves a line; the one that is asked whether the part is handed over looks for the other's.
PROGRAM = '#!/bin/sh\ncase $0 in */is-handed-over) grep -q hand-over "$0.log";; *) echo "${0##*/} $*" >> LOG;; esac\n'


def blocks():
    return re.findall(r"^```yaml\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def examples(replacements):
    steps = []
    for block in blocks():
        if not block.startswith("drain_steps:"):
            continue
        for old, new in replacements.items():
            block = block.replace(old, new)
        steps += yaml.safe_load(block)["drain_steps"]
    return steps


def test_every_kind_has_an_example_that_is_right():
    steps = checked_steps(examples({"{{ inventory_hostname }}": "web_0"}), {})
    assert {step.kind for step in steps} == set(SPECS)


def test_the_examples_run(tmp_path, haproxy, nginx, units, listener):
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        (programs / name).write_text(
            PROGRAM.replace("LOG", str(tmp_path / "log")).replace('"$0.log"', str(tmp_path / "log"))
        )
        (programs / name).chmod(0o755)
    # What the packages of a distribution bring: nginx with its own configuration.
    (programs / "nginx").write_text(f'#!/bin/sh\nexec {" ".join(nginx.command)} "$@"\n')
    (programs / "nginx").chmod(0o755)
    (tmp_path / "tasks").mkdir()
    for name in ("leave", "join"):
        task = {"name": name, "ansible.builtin.debug": {"msg": "{{ drain_step.number }} {{ maintenance_event.type }}"}}
        (tmp_path / "tasks" / f"{name}.yml").write_text(json.dumps([task]))
    (tmp_path / "healthy").touch()
    units.set(nginx="active", worker="inactive")
    steps = examples(
        {
            "/run/haproxy/admin.sock": haproxy.socket,
            "/etc/nginx/conf.d/web.conf": str(nginx.upstream),
            "10.0.0.4:80": "127.0.0.1:8001",
            "https://chat.example.com/hook": listener.url + "/hook",
            "http://127.0.0.1:8008": listener.url,
            "/usr/local/bin": str(programs),
            "/var/www/probe/healthy": str(tmp_path / "healthy"),
        }
    )
    steps = [step for step in steps if "kubernetes" not in step]
    event = {"id": "A1", "type": "Reboot", "not_before": None, "affects_this_host": True, "description": "x"}
    host = {
        "drain_journal": f"{tmp_path}/journal/journal.json",
        "maintenance_status": {"events": [event]},
        "maintenance_endpoint": "",
    }
    book = inventory(tmp_path, {"web_0": {**host, "drain_steps": steps}, "lb1": {}})
    roles = [{"ansible.builtin.include_role": {"name": f"maintenance.azure.{name}"}} for name in ("drain", "restore")]
    folders = [str(units.folder), str(programs), str(Path(sys.executable).parent), os.environ["PATH"]]
    before = nginx.upstream.read_text()
    run = play(tmp_path, book, *roles, hosts="web_0", PATH=os.pathsep.join(folders))
    assert run.code == 0, run.output
    assert (tmp_path / "log").read_text().splitlines() == [
        "leave-ring ",
        "hand-over ",
        "save-state --to /srv/state",
        "leave-ring ",
        "join-ring --wait",
        "load-state ",
        "take-over ",
        "join-ring ",
    ]
    assert units.calls() == ["stop nginx", "start nginx"]
    assert [body["text"] for body in listener.bodies if "text" in body] == ["draining for Reboot: x", "back in service"]
    assert listener.leader == "web_9"
    assert haproxy.states()["web_0"] == "ready"
    assert nginx.upstream.read_text() == before
    assert (tmp_path / "healthy").exists()
    assert not (tmp_path / "journal" / "journal.json").exists()
