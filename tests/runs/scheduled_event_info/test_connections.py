# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same answer over ssh, with and without pipelining, and as another user."""

from __future__ import annotations

import os
import shutil

import pytest
from helpers.ansible_run import fleet_inventory, play
from helpers.simulator_process import Simulator
from helpers.sshd_process import SSHD, sshd

pytestmark = pytest.mark.rest

needs_sshd = pytest.mark.skipif(SSHD is None, reason="no sshd on this machine: install openssh-server")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else without a password")
needs_sudo = pytest.mark.skipif(shutil.which("sudo") is None, reason="no sudo on this machine")
READ = {"name": "Read", "maintenance.azure.scheduled_event_info": {}}


@pytest.fixture(scope="module")
def simulator():
    with Simulator({"vms": [{"name": "web"}]}) as fleet:
        fleet.add_event(id="A1", type="Reboot", resources=["web"], notice=9000)
        yield fleet


def assert_read(outcome):
    assert outcome.code == 0, outcome.output
    assert [event["id"] for event in outcome.of("Read")["events"]] == ["A1"]


@needs_sshd
@pytest.mark.parametrize("pipelining", ["0", "1"])
def test_ssh(tmp_path, simulator, pipelining):
    with sshd(tmp_path) as host_vars:
        hosts = fleet_inventory(tmp_path, simulator, **host_vars)
        assert_read(play(tmp_path, hosts, READ, ANSIBLE_PIPELINING=pipelining))


@needs_root
@needs_sudo
@pytest.mark.parametrize("user", ["root", "nobody"])
def test_become(tmp_path, simulator, user):
    # A user without a home needs a Python that everybody may run, and no files of somebody else.
    hosts = fleet_inventory(tmp_path, simulator, ansible_python_interpreter="/usr/bin/python3")
    assert_read(
        play(tmp_path, hosts, READ, become=True, become_user=user, ANSIBLE_PIPELINING="1", ANSIBLE_REMOTE_TMP="/tmp")
    )
