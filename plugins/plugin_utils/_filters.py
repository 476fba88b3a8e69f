# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the filters share: their errors are one sentence, and what they return is text, never a template."""

from __future__ import annotations

import datetime
import functools
import typing as t
from collections.abc import Callable, Mapping

from ansible.errors import AnsibleFilterError
from ansible.utils.unsafe_proxy import wrap_var
from ansible.vars.hostvars import HostVars
from ansible_collections.maintenance.azure.plugins.plugin_utils._times import iso_time


def as_filter(name: str, function: Callable[..., t.Any]) -> Callable[..., t.Any]:
    @functools.wraps(function)
    def filtered(*arguments: t.Any, **options: t.Any) -> t.Any:
        try:
            # Azure's words may be in it. Before ansible-core 2.19 it has to be said that they are no templates.
            return wrap_var(function(*map(plain, arguments), **{name: plain(value) for name, value in options.items()}))
        except (ValueError, KeyError, TypeError) as error:
            raise AnsibleFilterError(f"maintenance.azure.{name}: {error}") from None

    return filtered


def plain(value: t.Any) -> t.Any:
    """Without the containers of ansible-core 2.19 and newer, which can't be copied."""
    if isinstance(value, HostVars):
        # Who takes it takes from it what is needed; it is costly.
        return value
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, datetime.datetime):
        # What AWX hands on from job to job is marked as unsafe, and then ansible-core 2.19 makes times of our texts.
        return iso_time(value.timestamp())
    return value
