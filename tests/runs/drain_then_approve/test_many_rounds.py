# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No number of rounds may limit a wave: ansible-core ends a play whose files include each other too deeply."""

from __future__ import annotations

import shutil

import pytest
from helpers import ROOT, ansible_run

pytestmark = pytest.mark.rest

TASKS = ROOT / "playbooks/roll/tasks"
# A file that includes itself once a round comes to some 245.
ROUNDS = 300

ROUND = f"""
- ansible.builtin.set_fact:
    __recorded: {{hosts: [], stale: [], number: "{{{{ __recorded.number | int + 1 }}}}"}}
- ansible.builtin.meta: end_batch
  when: __recorded.number | int == {ROUNDS}
"""

WAVE = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.set_fact:
        __recorded: {hosts: [], stale: [], number: 0}
    - ansible.builtin.include_tasks: further_rounds.yml
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.debug:
        msg: "There were {{ __recorded.number }} rounds"
"""


def test_a_wave_of_hundreds_of_rounds(tmp_path):
    shutil.copy(TASKS / "further_rounds.yml", tmp_path)
    (tmp_path / "round.yml").write_text(ROUND)
    (tmp_path / "wave.yml").write_text(WAVE)
    inventory = ansible_run.inventory(tmp_path, {"web-0": {}})
    run = ansible_run.run(tmp_path, ["ansible-playbook", "-i", str(inventory), "wave.yml"], 600)
    assert run.code == 0, run.output
    assert f"There were {ROUNDS} rounds" in run.output
