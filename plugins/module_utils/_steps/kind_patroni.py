# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind patroni.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json

from . import machine
from .kind import Kind
from .machine import StepError

LEADERS = ("leader", "master", "primary", "standby_leader")


class Patroni(Kind):
    name = "failover.patroni"
    options = dict(
        url=dict(type="str", default="http://127.0.0.1:8008"),
        cluster=dict(type="str"),
        candidate=dict(type="str"),
        timeout=dict(type="int", default=120),
        switch_back=dict(type="bool", default=False),
        username=dict(type="str"),
        password=dict(type="str", no_log=True),
        validate_certs=dict(type="bool", default=True),
    )
    acts_on = ("url", "cluster")
    undone_by = ("switch_back",)

    @classmethod
    def problems(cls, arguments, on_windows=False):
        problem = machine.bad_web_address(arguments["url"], None)
        return [problem] if problem else []

    @classmethod
    def look(cls, host, arguments):
        node = _node(host, arguments)
        return {"leader": node["role"] in LEADERS, "name": node["name"]}

    @classmethod
    def drain(cls, host, arguments, _before):
        node = _node(host, arguments)
        if node["role"] not in LEADERS:
            return
        order = {"leader": node["name"]}
        if arguments.get("candidate"):
            order["candidate"] = arguments["candidate"]
        host.change("switched over from %s" % node["name"], _switch, host, arguments, order)
        if not host.check_mode and not host.wait_until(
            lambda: _other_leader(host, arguments, node["name"]), interval=1
        ):
            raise StepError(
                "Patroni took the switchover, but no other member leads after %s" % machine.in_seconds(host.timeout)
            )

    @classmethod
    def restore(cls, host, arguments, before):
        if not (arguments.get("switch_back") and before.get("leader")):
            return
        name = before["name"]
        members = _members(host, arguments)
        leader = next((member["name"] for member in members if member.get("role") in LEADERS), None)
        if leader == name:
            return
        order = {"leader": leader, "candidate": name}
        host.change("switched back to %s" % name, _switch, host, arguments, order)
        if not host.check_mode and not host.wait_until(lambda: _leads(host, arguments, name), interval=1):
            raise StepError(
                "Patroni took the switchover, but %s does not lead after %s" % (name, machine.in_seconds(host.timeout))
            )


def _node(host, arguments):
    node = _ask(host, arguments, "/patroni")
    identity = node.get("patroni") or {}
    wanted = arguments.get("cluster")
    if wanted and identity.get("scope") != wanted:
        raise StepError("Patroni at %s is of cluster %s, not %s" % (arguments["url"], identity.get("scope"), wanted))
    name = identity.get("name") or _name_of_this_member(host, arguments)
    return {"role": node.get("role"), "name": name}


def _name_of_this_member(host, arguments):
    """Patroni before 3.0 does not tell a member its own name; the cluster's list tells whose address it is."""
    url = arguments["url"].rstrip("/")
    members = _members(host, arguments)
    mine = [one["name"] for one in members if str(one.get("api_url", "")).startswith(url + "/")]
    leaders = [one["name"] for one in members if one.get("role") in LEADERS]
    if len(mine or leaders) != 1:
        raise StepError("Patroni at %s does not tell the name of this member" % arguments["url"])
    return (mine or leaders)[0]


def _members(host, arguments):
    return _ask(host, arguments, "/cluster").get("members") or []


def _other_leader(host, arguments, name):
    return _leader_runs(host, arguments, lambda member: member["name"] != name)


def _leads(host, arguments, name):
    return _leader_runs(host, arguments, lambda member: member["name"] == name)


def _leader_runs(host, arguments, is_wanted):
    try:
        members = _members(host, arguments)
    except machine.WebError:
        return False  # it restarts PostgreSQL, ask again
    leaders = [member for member in members if member.get("role") in LEADERS]
    return len(leaders) == 1 and is_wanted(leaders[0]) and leaders[0].get("state") == "running"


def _switch(host, arguments, order):
    try:
        _request(host, arguments, "/switchover", method="POST", body=order)
    except machine.WebError as error:
        raise StepError("Patroni refuses the switchover. %s" % error) from None


def _ask(host, arguments, path):
    # A replica answers 503 to what only a leader is; the body is good all the same.
    text = _request(host, arguments, path, accepted=(200, 503))[1]
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise StepError("%s%s does not answer like Patroni" % (arguments["url"].rstrip("/"), path))
    return answer


def _request(host, arguments, path, **more):
    login = (arguments["username"], arguments.get("password") or "") if arguments.get("username") else None
    return machine.request(
        arguments["url"].rstrip("/") + path,
        timeout=max(1, host.left()),
        validate_certs=arguments.get("validate_certs", True),
        login=login,
        proxy=False,
        **more,
    )
