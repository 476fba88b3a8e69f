# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failures lose their traceback, and that no action was forgotten."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail
from ansible_collections.maintenance.azure.plugins import action
from ansible_collections.maintenance.azure.plugins.plugin_utils._failures import in_one_sentence

ACTIONS = sorted(path.stem for folder in action.__path__ for path in Path(folder).glob("*.py"))


@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_fails_so(name):
    module = importlib.import_module(f"ansible_collections.maintenance.azure.plugins.action.{name}")
    assert module.ActionModule.run.__code__ is in_one_sentence(dict).__code__


def run_of_an_action(_self, _tmp, _task_vars):
    try:
        raise ValueError("below")
    except ValueError:
        raise AnsibleActionFail("above", result={"late": True}) from None


def test_a_foreseen_failure():
    with pytest.raises(AnsibleActionFail, match="above") as failure:
        in_one_sentence(run_of_an_action)(None)
    assert failure.value.result["late"] is True
    assert "exception" not in failure.value.result


def test_what_it_is_given_is_passed_on():
    def run(*given):
        return {"given": given}

    assert in_one_sentence(run)("self", None, {"a": 1}) == {"given": ("self", None, {"a": 1})}
