# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter maintenance.azure.waves. Its documentation is in waves.yml."""

from __future__ import annotations

import contextlib
import gc
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.utils.display import Display

from ..plugin_utils._common import text
from ..plugin_utils._plan.waves import WAVE_VARIABLES, make_waves

display = Display()


@contextlib.contextmanager
def no_garbage_collection() -> t.Iterator[None]:
    """Looking for cycles among the variables of 100,000 hosts takes as long as the rest, and there are none."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def waves(hosts: t.Any, hostvars: t.Any, max_at_once: t.Any = None) -> list[list[str]]:
    try:
        names = text.host_names(hosts)
        with no_garbage_collection():
            found = make_waves(names, text.needed_vars(names, hostvars, WAVE_VARIABLES), max_at_once)
    except ValueError as error:
        raise AnsibleFilterError(f"maintenance.azure.waves: {error}") from None
    for wave in found:
        for warning in wave["warnings"]:
            display.warning(warning)
    return [wave["hosts"] for wave in found]


class FilterModule:
    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        return {"waves": waves}
