# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run knows goes in as a text, and comes out as one: plugin_utils/_run decides, the playbooks do it.

A task is a process of its own, so nothing stays in memory. One text, as Ansible walks through all of a variable that is
not one each time it is named; and no facts, as those outlive a run in a fact cache.
"""

from __future__ import annotations

import json
import time
import typing as t
import uuid

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.order import marks_name_only
from ..plugin_utils._azure.vms import NAME_VARIABLES, InventoryNames, hosts_by_vm_name, known_vms
from ..plugin_utils._common.ansible import in_one_sentence, plain
from ..plugin_utils._common.text import host_names, iso_time, needed_vars
from ..plugin_utils._host.readings import DRAIN, Documents, last_reading
from ..plugin_utils._lease.lease import SIGNS_OF_WINDOWS, windows_hosts
from ..plugin_utils._plan.plan import PLAN_TEXTS, PLAN_VARIABLES
from ..plugin_utils._run import round as _round
from ..plugin_utils._run import run as _run
from ..plugin_utils._run import view as _view
from ..plugin_utils._run.leases import outvoted
from ..plugin_utils._run.model import read_run_settings
from ..plugin_utils._run.orders import left_to_tasks, to_be_read_again
from ..plugin_utils._run.rounds import goes_on, left_of_the_batch
from ..plugin_utils._run.run import RecordHolder, answer_of_cluster, foreign_records, recorded_hosts, with_records
from ..plugin_utils._run.run_state import RunState, from_carried, packed, to_carry, unpacked
from ..plugin_utils._run.summary import run_summary
from ..plugin_utils._steps.kinds import Cluster, RecordsPlace, clusters_of, places_of
from ..plugin_utils._steps.work import NO_EVENT

ACTIONS = (
    "begin",
    "plan",
    "check",
    "decide",
    "confirm_drain",
    "drained",
    "order",
    "confirm_approval",
    "returned",
    "record",
    "leftovers",
    "sum_up",
)
OPTIONS = dict(
    do=dict(type="str", required=True, choices=ACTIONS),
    state=dict(type="str"),
    round=dict(type="str"),
    hosts=dict(type="list", elements="str"),
    run_id=dict(type="str"),
    lock_hosts=dict(type="list", elements="str"),
    pattern_hosts=dict(type="list", elements="str", default=[]),
    asked=dict(type="int", default=0),
    answers=dict(type="str"),
    others=dict(type="list", elements="str"),
    wave=dict(type="int", default=0),
    records=dict(type="list", elements="dict", default=[]),
    nodes=dict(type="list", elements="dict", default=[]),
    run_settings=dict(type="dict", default={}),
)
READ = (*PLAN_VARIABLES, "maintenance_service")
REGISTERED = ("maintenance_status", "drain_result", "approve_result", "restore_result")
LEASE_ANSWERS = "__lease_answers"
READ_AGAIN = "__read_again"


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS)
        self.task_vars = task_vars or {}
        self.hostvars = self.task_vars["hostvars"]
        self.hosts = host_names(options["hosts"] or [])
        self.options = options
        self.now = time.time()
        self.state: RunState = unpacked(options["state"]) if options["state"] else t.cast(RunState, {})
        self.round: dict[str, t.Any] = from_carried(options["round"]) if options["round"] else {}
        try:
            self.run_settings = read_run_settings(plain(options["run_settings"]))
            result = getattr(self, f"_{options['do']}")()
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        # Azure's words are in it: text, never a template. Before ansible-core 2.19 that has to be said.
        return wrap_var({"changed": False, **result})

    def _variables(self, names: tuple[str, ...]) -> dict[str, dict[str, t.Any]]:
        found = needed_vars(self.hosts, self.hostvars, names, texts=PLAN_TEXTS)
        if "maintenance_status" in names:
            documents = Documents(constants.DEFAULT_LOCAL_TMP)
            for known in found.values():
                if DRAIN in names:
                    known["maintenance_status"] = last_reading(known)
                if isinstance(known.get("maintenance_status"), dict):
                    known["maintenance_status"] = documents.whole(plain(known["maintenance_status"]), self.now)
        return found

    def _inventory(self) -> _view.Inventory:
        mine = set(self.hosts)

        def elsewhere() -> dict[str, list[str]]:
            others = [str(host) for host in self.hostvars if host not in mine]
            return hosts_by_vm_name(others, needed_vars(others, self.hostvars, NAME_VARIABLES))

        def names() -> InventoryNames:
            return InventoryNames(self.state["lease_of"], self.state["vms"])

        return _view.Inventory(elsewhere, names)

    def _answers(self) -> dict[str, dict[str, t.Any]]:
        """Lease -> lock host -> what it answered. Who asked whom does not matter."""
        # Where one host has asked for all, all have its answers; else each host has a part of them.
        if len(_asked(self.task_vars)) == self.options["asked"]:
            return _by_lease([self.task_vars])
        return self._answers_of([str(host) for host in self.task_vars.get("ansible_play_batch", ())])

    def _answers_of(self, hosts: t.Sequence[str]) -> dict[str, dict[str, t.Any]]:
        return _by_lease(needed_vars(hosts, self.hostvars, (LEASE_ANSWERS,)).values())

    def _read_again(self) -> dict[str, dict[str, t.Any]] | None:
        """Hosts outside of the batch that had to be read first, with what they said; None before that."""
        if self.options["others"] is None:
            return None
        names = [str(host) for host in self.task_vars.get("ansible_play_batch", ())]
        said = {}
        for variables in needed_vars(names, self.hostvars, (READ_AGAIN,)).values():
            for result in (variables.get(READ_AGAIN) or {}).get("results", ()):
                if result["__other"] in self.options["others"]:
                    said[str(result["__other"])] = plain(result)
        found = needed_vars(list(said), self.hostvars, READ)
        documents = Documents(constants.DEFAULT_LOCAL_TMP)
        return {
            host: {**found.get(host, {}), "maintenance_status": documents.whole(status, self.now)}
            for host, status in said.items()
        }

    def _told(self, **more: t.Any) -> dict[str, t.Any]:
        shared = _run.for_the_plays(self.state, self.run_settings)
        return {"run": {"state": packed(self.state), **shared}, **more}

    def _begin(self) -> dict[str, t.Any]:
        inventory = [str(host) for host in self.hostvars if host != "localhost" or host in self.hosts]
        names = ("maintenance_delivery_group", *(["maintenance_service"] if self._counts_services() else []))
        variables = needed_vars(inventory, self.hostvars, names, texts=(*SIGNS_OF_WINDOWS, *PLAN_TEXTS))
        groups = {host: str(known.get("maintenance_delivery_group") or "") for host, known in variables.items()}
        run_id = self.options["run_id"] or str(uuid.uuid4())
        windows = windows_hosts(variables)
        services = self._services(variables) if self._counts_services() else {}
        vms = known_vms(inventory, plain(variables))
        self.state = _run.begin(
            run_id, self.now, self.hosts, groups, self.options["lock_hosts"], windows, services, vms
        )
        # Where steps leave a record: those machines are asked who is drained there.
        found = {place for places in self._needs(self.hosts).values() for place in places}
        return self._told(
            places=[place._asdict() for place in sorted(found) if isinstance(place, RecordsPlace)],
            clusters=[place._asdict() for place in sorted(found) if isinstance(place, Cluster)],
        )

    def _counts_services(self) -> bool:
        return self.run_settings.settings.min_in_service is not None

    def _services(self, variables: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, str]:
        """A service is all hosts that have its name, else all hosts of the pattern: whatever --limit says."""
        found = {host: str(known.get("maintenance_service") or "").strip() for host, known in variables.items()}
        of_the_pattern = {*host_names(self.options["pattern_hosts"]), *self.hosts}
        return {host: service for host, service in found.items() if service or host in of_the_pattern}

    def _needs(self, hosts: t.Sequence[str]) -> dict[str, list[RecordHolder]]:
        def resolved(host: str, value: t.Any) -> t.Any:
            if not isinstance(value, str) or "{" not in value:
                return value
            variables = {**self.hostvars.raw_get(host), "hostvars": self.hostvars, "inventory_hostname": host}
            variables["maintenance_event"] = NO_EVENT
            try:
                return plain(self._templar.copy_with_new_env(available_variables=variables).template(value))
            except AnsibleError as error:
                raise ValueError(f"{host}: drain_steps can't be resolved: {error}") from None

        def raw(host: str) -> t.Mapping[str, t.Any]:
            return self.hostvars.raw_get(host) if host in self.hostvars else {}

        machines, clusters = places_of(hosts, raw, resolved), clusters_of(hosts, raw, resolved)
        return {host: [*machines.get(host, ()), *clusters.get(host, ())] for host in (*machines, *clusters)}

    def _with_records(self) -> None:
        if self.state["number_of_pass"] > 0:
            return
        answers: dict[RecordHolder, t.Any] = {
            RecordsPlace(**plain(one["__place"])): plain(one) for one in self.options["records"]
        }
        for one in self.options["nodes"]:
            answers[Cluster(**plain(one["__cluster"]))] = answer_of_cluster(plain(one))
        needs = self._needs(self.hosts)
        others = {host for answer in answers.values() for host in recorded_hosts(answer)} - set(self.hosts)
        for host in sorted(others & self.state["lease_of"].keys()):
            try:
                needs.update(self._needs([host]))
            except ValueError:
                # Nobody can say that its steps do not act there.
                needs[host] = list(answers)
        if needs:
            self.state = with_records(self.state, needs, answers)

    def _plan(self) -> dict[str, t.Any]:
        self._with_records()
        taken_away = set(_run.hosts_taken_away(self.state))
        self.hosts = [host for host in self.hosts if host not in taken_away]
        self.state = _run.plan(self.state, self._variables(READ), self.run_settings, self._inventory(), self.now)
        made = self.state["plan"]
        return self._told(
            lines=[*made["lines"], *foreign_records(self.state)],
            shows=self.state["number_of_pass"] == 1 or bool(made["waves"]),
            planned=_run.in_numbers(made),
            calls=self.state["first_wave"]["calls"] if self.state["first_wave"] else [],
            nothing_read=len(made["unknown"]) >= len(self.state["hosts"]),
        )

    def _check(self) -> dict[str, t.Any]:
        # Any host of the run may have asked for the lease of its first wave.
        early = self._answers_of(self.state["hosts"]) if self.state["first_wave"] else {}
        found = _run.check(self.state, self.hosts, self.run_settings, early, self.now)
        if found["stop"]:
            self.state["stopped"] = found["stop"]
        return self._told(
            stop=found["stop"],
            lines=found["lines"],
            calls=found["calls"],
            hosts=found["hosts"],
            reads=found["reads"],
            answers=to_carry(early) if found["begun"] else "",
            wave=found["wave"]["number"] if found["wave"] else 0,
        )

    def _decide(self) -> dict[str, t.Any]:
        early = self.options["answers"]
        answers = from_carried(early) if early else self._answers()
        found = _round.decide(
            self.state,
            self._variables(READ),
            self.run_settings,
            self._inventory(),
            answers,
            self.now,
            bool(early),
            self._read_again(),
        )
        warnings = outvoted(self.state, self.now)
        return {**self._round_told(found), **({"warnings": warnings} if warnings else {})}

    def _confirm_drain(self) -> dict[str, t.Any]:
        decision = t.cast(_round.Decision, self.round["decision"])
        self._take_up_round()
        return self._round_told(_round.confirm_drain(self.state, decision, self._answers(), self.now))

    def _take_up_round(self) -> None:
        """Take in what has changed since the state was written, hosts that became unreachable included."""
        self.state["notes"], self.state["refusals"] = self.round["notes"], self.round["refusals"]
        self.hosts = self.round["batch"]

    def _round_told(self, decision: _round.Decision) -> dict[str, t.Any]:
        found = decision["round"]
        return {
            "text": to_carry({"decision": decision, "batch": self.hosts, **self._heard()}),
            "drain": found["drain"],
            "orders": _each_as_text(
                {
                    host: {"events": found["drain_for"][host], "fence": decision["fences"][host]}
                    for host in found["drain"]
                }
            ),
            "run_id": self.state["run_id"],
            "calls": decision["calls"],
            "others": decision["others"],
        }

    def _heard(self) -> dict[str, t.Any]:
        """What the lock hosts have said in this round. The state is written down at its end."""
        return {"notes": self.state["notes"], "refusals": self.state["refusals"]}

    def _drained(self) -> dict[str, t.Any]:
        results = self._registered(DRAIN)
        return {
            "by_tasks": left_to_tasks(results),
            "reads": to_be_read_again(results, self.run_settings.oldest_reading, self.now),
        }

    def _returned(self) -> dict[str, t.Any]:
        return {"by_tasks": left_to_tasks(self._registered("restore_result"))}

    def _registered(self, name: str) -> dict[str, t.Any]:
        found = needed_vars(self.hosts, self.hostvars, (), texts=(name,))
        return {host: known.get(name) or {} for host, known in found.items()}

    def _order(self) -> dict[str, t.Any]:
        found = self.round["decision"]["round"]
        self._take_up_round()
        variables = self._variables((*READ, "drain_result"))
        orders, held, calls = _round.order(self.state, found, variables, self.run_settings, self._inventory(), self.now)
        return self._orders_told(orders, held, calls)

    def _confirm_approval(self) -> dict[str, t.Any]:
        self._take_up_round()
        orders, calls = self.round["orders"], self.round["calls"]
        orders, held = _round.confirm_approval(self.state, orders, self._answers(), calls, self.now)
        return self._orders_told(orders, held, [])

    def _orders_told(self, orders: t.Any, held: dict[str, str], calls: t.Any) -> dict[str, t.Any]:
        known = {**self.round, "orders": orders, "calls": calls, **self._heard()}
        found = known["decision"]["round"]
        found["held"].update(held)
        found["again"] = found["again"] or bool(held) or any(one["drain"] == "put_off" for one in orders.values())
        return {
            "id": str(uuid.uuid4()),
            "text": to_carry(known),
            "orders": _each_as_text(orders),
            "run_id": self.state["run_id"],
            "calls": calls,
            # The others are marked by the command that approves.
            "marked_before": [
                host for host, one in orders.items() if one["acts"] and not marks_name_only(host, one["marks"])
            ],
            "restores": [host for host, one in orders.items() if one["restore"]],
        }

    def _leftovers(self) -> dict[str, t.Any]:
        since = self.round.get("since") or self.now
        orders, pause = _run.return_leftovers(self.state, self._variables(READ), self.run_settings, since, self.now)
        return {
            "text": to_carry({"orders": orders, "since": since}),
            "orders": _each_as_text(orders),
            "run_id": self.state["run_id"],
            "restores": [host for host, one in orders.items() if one["restore"]],
            "pause": pause,
        }

    def _record(self) -> dict[str, t.Any]:
        found = self.round["decision"]["round"] if "decision" in self.round else None
        batch, self.hosts = self.hosts, list(self.round["orders"])
        self.state["notes"] = self.round.get("notes", [])
        self.state["refusals"] = self.round.get("refusals", self.state["refusals"])
        variables = self._variables((*READ, *REGISTERED))
        self.state, calls, of_others = _round.record(
            self.state, self.round["orders"], found, variables, self.options["wave"], self.now
        )
        if found is None:
            return self._told(calls=calls, of_others=of_others)
        again, pause = goes_on(self.state, found, self.hosts, batch, self.run_settings, self.now)
        hosts = left_of_the_batch(self.state, found, batch)
        held = [f"Event {event} waits: {why}" for event, why in found["held"].items()]
        return self._told(
            calls=calls,
            of_others=of_others,
            again=again and bool(hosts),
            pause=pause,
            hosts=hosts,
            lines=held,
        )

    def _sum_up(self) -> dict[str, t.Any]:
        run = {**self.state, "ended_at": iso_time(self.now)}
        return {**run_summary(run, self.state["outcomes"], self.state["plan"])}


def _by_lease(askers: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    found: dict[str, dict[str, t.Any]] = {}
    for variables in askers:
        for result in _asked(variables):
            call = result["__call"]
            found.setdefault(str(call["group"]), {})[str(call["lock_host"])] = plain(result)
    return found


def _asked(variables: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """What one host was answered; who had nobody to ask has an item without a lease."""
    results = (variables.get(LEASE_ANSWERS) or {}).get("results", ())
    return [result for result in results if "group" in result["__call"]]


def _each_as_text(orders: t.Mapping[str, t.Any]) -> dict[str, str]:
    """By host, so that none has to read those of all."""
    return {host: json.dumps(order) for host, order in orders.items()}
