# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/event-driven.md: all that it tells to type and to write, done by somebody who follows it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import yaml
from helpers import ROOT
from helpers.fleet import RunFleet
from helpers.galaxy_double import galaxy
from helpers.network import free_port
from helpers.readme_page import User, commands_with
from helpers.rulebook import RulebookController, what_is_missing
from helpers.waiting import wait_until

MISSING = what_is_missing()
pytestmark = [
    pytest.mark.once,
    pytest.mark.rest,
    pytest.mark.skipif(MISSING is not None, reason=str(MISSING)),
    pytest.mark.skipif(os.geteuid() != 0, reason="the role watch gives its files to root, so it needs root"),
]
PAGE = (ROOT / "docs" / "event-driven.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(yaml|console)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = [line for language, text in BLOCKS if language == "console" for line in text.splitlines()]
WATCH = next(text for language, text in BLOCKS if language == "yaml" and text.startswith("# watch.yml\n"))


class Reader:
    """Somebody at a terminal, with a home of his own and a fleet that is all on this machine."""

    def __init__(self, folder, fleet, port, **environment):
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(exist_ok=True)
        self.port = port
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "PYTHON"))}
        self.environment = {**kept, "HOME": str(self.home), "ANSIBLE_PIPELINING": "1", **environment}
        # Where packages come from is the machine's business.
        self.environment.setdefault("PIP_CONFIG_FILE", str(ROOT / ".build" / "home" / ".config" / "pip" / "pip.conf"))
        own = {
            "watch_manage_service": False,
            "watch_user": "root",
            "watch_python": sys.executable,
            "watch_interval": 0.5,
            "watch_heartbeat": 2,
            "ansible_become": False,
        }
        for host in fleet.domain_of:
            at = folder / f"machine-{host}"
            fleet.host_vars[host].update(
                own,
                watch_dir=str(at / "lib"),
                watch_config=str(at / "watch.json"),
                watch_status_file=str(at / "status.json"),
                watch_audit_file=str(at / "audit.jsonl"),
                **{
                    f"__watch_{name}_file": str(at / name)
                    for name in ("unit", "reflex_unit", "reflex_path", "logrotate")
                },
            )
        (folder / "hosts.yml").write_text(fleet.inventory().read_text())
        (folder / "watch.yml").write_text(WATCH.replace("controller.example.com:5010", f"127.0.0.1:{port}"))

    def types(self, command, **more):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**self.environment, **more},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return done.stdout

    def starts(self, command, **more):
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["bash", "-c", f"exec env {command}"],
                cwd=self.folder,
                env={**self.environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self):
        return (self.folder / "log").read_text(errors="replace")


def test_the_page_from_top_to_bottom(tmp_path):
    make, install, collection, secret, state, watch, run, awx = COMMANDS
    packager = User(tmp_path / "clone")
    packager.type(commands_with("ansible-galaxy collection build")[0])
    (tarball,) = packager.folder.glob("*.tar.gz")
    with RunFleet(tmp_path, hosts=2, domains=2) as fleet, galaxy(tarball) as server:
        port = free_port()
        reader = Reader(tmp_path, fleet, port, ANSIBLE_GALAXY_SERVER=f"{server}/api/")
        reader.types(make)
        reader.types(install)
        reader.types(collection)
        reader.types(secret)
        reader.types(state)
        assert (tmp_path / "eda.yml").stat().st_mode & 0o777 == 0o600
        known = yaml.safe_load((tmp_path / "eda.yml").read_text())
        assert len(known["maintenance_secret"]) == 64
        reader.types(watch)
        started = []
        try:
            with (tmp_path / "eda.yml").open("a") as more:
                more.write(f"maintenance_port: {port}\n")
            started.append(reader.starts(run))
            for host in fleet.domain_of:
                at = tmp_path / f"machine-{host}"
                started.append(reader.starts(f"{at / 'lib' / 'watch'} --config {at / 'watch.json'}"))
            fleet.event_per_domain()
            wait_until(lambda: sorted(fleet.approvals()) == ["E0", "E1"] and not fleet.drained_hosts(), reader.log)
            fleet.assert_one_domain_at_a_time()
            assert (
                json.loads((tmp_path / "home" / "eda-state.json").read_text())["hosts"].keys() == fleet.domain_of.keys()
            )
            os.killpg(started[0].pid, signal.SIGKILL)
            with RulebookController("Azure maintenance: drain then approve") as controller:
                started.append(reader.starts(awx, CONTROLLER_HOST=controller.url, CONTROLLER_OAUTH_TOKEN="t"))
                fleet.event_of_domain("0", id="A0", notice=9000)
                wait_until(lambda: controller.launched, reader.log)
        finally:
            for process in started:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
                process.wait()


def test_the_event_for_the_rules_is_as_the_page_has_it():
    from ansible_collections.maintenance.azure.plugins.plugin_utils._eda.told import event_for_rules

    shown = next(text for language, text in BLOCKS if language == "yaml" and text.startswith("maintenance:"))
    assert list(yaml.safe_load(shown)["maintenance"]) == list(event_for_rules("pending", "g", [], 0.0)["maintenance"])


def test_every_variable_of_the_rulebook_is_on_the_page():
    for name in ("drain_then_approve.yml", "drain_then_approve_awx.yml"):
        text = (ROOT / "extensions" / "eda" / "rulebooks" / name).read_text()
        for variable in set(re.findall(r"\{\{ (maintenance_\w+)", text)):
            assert f"`{variable}`" in PAGE, variable
