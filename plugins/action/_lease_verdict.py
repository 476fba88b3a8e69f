# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action _lease_verdict: what the answers of all lock hosts mean together."""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._common.ansible import in_one_sentence
from ..plugin_utils._common.options import lease_verdict_options
from ..plugin_utils._lease.lease import Refusal, verdict


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=lease_verdict_options())
        try:
            results = {str(result[result["ansible_loop_var"]]): result for result in options["results"]}
            found = verdict(
                options["group"],
                options["lock_hosts"],
                results,
                options["do"],
                now=time.time(),
                refused_before=_refusals_in(options["refused_before"]),
            )
        except KeyError:
            raise AnsibleActionFail(
                "results must be those of maintenance.azure.lease in a loop over lock hosts"
            ) from None
        except ValueError as error:
            raise AnsibleActionFail(f"This is no lease: {error}") from None
        told = {field.name: getattr(found, field.name) for field in dataclasses.fields(found)}
        lists = {
            "notes": list(map(dict, found.notes)),
            "unread_lock_hosts": list(found.unread_lock_hosts),
            "refused_by": list(found.refused_by),
        }
        return wrap_var({"changed": False, **told, **lists})


def _refusals_in(option: t.Mapping[str, t.Any]) -> dict[str, Refusal]:
    try:
        return {
            str(lock_host): {"since": float(one["since"]), "last": float(one["last"])}
            for lock_host, one in option.items()
        }
    except (KeyError, TypeError):
        raise ValueError("refused_before must be the refusals of the verdict before this one") from None
