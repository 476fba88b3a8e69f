# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind kubernetes.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import re

from .kind import A_TIMEOUT, MACHINE, PATH, Kind

NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}\Z")


class Kubernetes(Kind):
    name = "kubernetes"
    options = dict(
        node=dict(type="str", required=True),
        kubeconfig=dict(type="str"),
        context=dict(type="str"),
        host=dict(type="str", default="localhost"),
        timeout=A_TIMEOUT,
        force=dict(type="bool", default=False),
        delete_emptydir_data=dict(type="bool", default=False),
        terminate_grace_period=dict(type="int"),
        disable_eviction=dict(type="bool", default=False),
    )
    acts_on = ("host", "node")
    has_host = True
    by_tasks = True
    module = "kubernetes.core.k8s_drain"

    @classmethod
    def problems(cls, arguments, on_windows=False):
        if not NODE.match(str(arguments["node"])):
            yield "%r can't be the name of a node" % arguments["node"]

    @classmethod
    def needs(cls, arguments):
        path = arguments.get("kubeconfig")
        return [(PATH, path, "file")] if path else [(MACHINE, arguments["host"], "")]
