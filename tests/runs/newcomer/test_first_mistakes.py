# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes wrong in the first five minutes ends in a sentence that says what to do, and never in silence."""

from __future__ import annotations

import os
import re
import socket

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host import lease as _lease
from ansible_collections.maintenance.azure.plugins.module_utils._steps import kind_haproxy as _kind_haproxy
from ansible_collections.maintenance.azure.plugins.module_utils._steps.runner import StepError
from helpers.ansible_run import MIRROR, inventory, play, run

pytestmark = pytest.mark.rest

PLAYBOOKS = ["awx_fan_out", "check", "collect", "drain_then_approve", "report"]
READ = ["ansible", "all", "-m", "maintenance.azure.scheduled_event_info"]


def book(name):
    return ["ansible-playbook", f"maintenance.azure.{name}"]


def without(folder, package):
    """The environment of a controller that lacks a Python package."""
    hidden = folder / "hidden"
    hidden.mkdir()
    (hidden / f"{package}.py").write_text(f"raise ModuleNotFoundError('No module {package}', name={package!r})")
    return {"PYTHONPATH": os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_no_inventory(tmp_path, playbook):
    done = run(tmp_path, book(playbook))
    assert done.code != 0
    assert "No host of the inventory matches all: name an inventory of your Azure VMs with -i" in done.output


@pytest.mark.parametrize("playbook", PLAYBOOKS)
@pytest.mark.parametrize("pattern", ["wbe", "db", "empty"])
def test_a_pattern_that_matches_nobody_within_the_limit(tmp_path, playbook, pattern):
    hosts = tmp_path / "hosts.ini"
    hosts.write_text("[web]\nweb-0\nweb-1\n[db]\ndb-0\n[empty]\n")
    limited = ["-i", str(hosts), "-e", f"maintenance_hosts={pattern}", "--limit", "web-0"]
    done = run(tmp_path, [*book(playbook), *limited])
    assert done.code != 0
    assert f"No host of the inventory matches {pattern} and --limit web-0" in done.output
    assert [line["task"] for line in done.results][-1] == "Make sure that there are hosts"


def test_maintenance_hosts_where_no_play_can_see_it(tmp_path):
    hosts = str(inventory(tmp_path, {"web-0": {"maintenance_hosts": "web-0"}, "db-0": {"maintenance_hosts": "web-0"}}))
    done = run(tmp_path, [*book("drain_then_approve"), "-i", hosts])
    assert done.code != 0
    assert "maintenance_hosts is web-0 in the inventory, where plays can't see it" in done.output


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_an_old_ansible_core(tmp_path, playbook):
    # The real ansible-core of this run, which takes itself for an older one.
    (tmp_path / "sitecustomize.py").write_text("import ansible.release\nansible.release.__version__ = '2.15.13'\n")
    hosts = str(inventory(tmp_path, {"web-0": {}}))
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = run(tmp_path, [*book(playbook), "-i", hosts], PYTHONPATH=path)
    assert done.code != 0
    assert "maintenance.azure needs ansible-core 2.16 or newer and this is 2.15.13: upgrade" in done.output


def test_not_an_azure_vm(tmp_path):
    """Nobody listens at port 9 of loopback: what a machine outside of Azure says."""
    own = {
        "maintenance_endpoint": "http://127.0.0.1:9",
        "drain_journal": str(tmp_path / "journal"),
        "maintenance_lock_path": str(tmp_path / "lock"),
    }
    hosts = str(inventory(tmp_path, {"web-0": own}))
    done = run(tmp_path, [*book("drain_then_approve"), "-i", hosts])
    assert done.code != 0, "nothing could be read, so nobody knows that all is well"
    assert "Unread, so nothing is known about web-0." in done.output
    assert "Not an Azure VM, or the service is blocked: check the route" in done.output


def test_no_jmespath(tmp_path):
    hosts = str(inventory(tmp_path, {"web-0": {}}))
    done = run(tmp_path, [*READ, "-i", hosts, "-a", "query=events"], **without(tmp_path, "jmespath"))
    assert done.code != 0
    assert "query needs the Python package jmespath on the controller" in done.output
    assert "pip install jmespath" in done.output


def test_no_requests(tmp_path):
    (tmp_path / "scheduled_events.yml").write_text("plugin: maintenance.azure.scheduled_events\n")
    hosts = str(inventory(tmp_path, {"web-0": {}}))
    command = ["ansible-inventory", "-i", hosts, "-i", "scheduled_events.yml", "--list"]
    done = run(tmp_path, command, **without(tmp_path, "requests"))
    assert "pip install requests" in done.output


def as_an_ordinary_user(action):
    """What the action says as a user who may do little: root may do everything."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        # Whatever happens, nobody else must go on here as a second pytest.
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)
            os.write(writing, action().encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(child, 0)
    return text


def test_no_permission_for_the_socket_of_haproxy(tmp_path):
    path = str(tmp_path / "admin.sock")

    def ask():
        try:
            return _kind_haproxy.ask(path, "show info")
        except StepError as error:
            return str(error)

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(path)
        os.chmod(path, 0o600 if os.geteuid() == 0 else 0)  # noqa: PTH101
        listener.listen()
        said = as_an_ordinary_user(ask)
    assert said.startswith(f"HAProxy can't be reached at its socket {path}: permission denied. Use become, or a socket")


def test_no_permission_for_the_lease(tmp_path):
    """The first thing that a run writes, and so the first that a forgotten become meets."""
    folder = tmp_path / "root's own"
    # As it is for everybody but its owner.
    folder.mkdir(mode=0o700 if os.geteuid() == 0 else 0)

    def take():
        try:
            return str(_lease.take(str(folder / "lock"), {}, 60))
        except _lease.LeaseError as error:
            return str(error)

    assert as_an_ordinary_user(take).endswith(
        "Permission denied. Use become, or set maintenance_lock_path to a path that this user may write, and run again"
    )


def test_an_option_that_no_action_has(tmp_path):
    """A failure that we foresee is a sentence: no traceback beside it, on any ansible-core."""
    folder = MIRROR / "ansible_collections" / "maintenance" / "azure" / "plugins" / "action"
    names = sorted(path.stem for path in folder.glob("*.py"))
    tasks = [{"name": name, f"maintenance.azure.{name}": {"colour": "red"}, "ignore_errors": True} for name in names]
    done = play(tmp_path, inventory(tmp_path, {"a": {}}), *tasks, module_defaults={})
    # Those of a run take what they need from its variables, of which there are none here.
    for name in names:
        if not name.startswith("_"):
            assert done.of(name)["outcome"] == "failed"
            assert re.search("colour|missing required arguments", done.of(name)["msg"])
            assert not re.search("Traceback|NoneType", str(done.of(name)))
