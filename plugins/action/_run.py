# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run does next: plugin_utils/_run decides, the playbooks do it, and the store keeps what is known.

What is returned is what the plays need for their conditions, and what an operator reads.
"""

from __future__ import annotations

import time
import typing as t
import uuid

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.unsafe_proxy import wrap_var

from ..plugin_utils._approve.order import marks_name_only
from ..plugin_utils._azure.vms import NAME_VARIABLES, InventoryNames, hosts_by_vm_name, known_vms
from ..plugin_utils._common import ansible, text
from ..plugin_utils._common.store import Overtaken, RunStore
from ..plugin_utils._host import readings
from ..plugin_utils._lease import lease
from ..plugin_utils._plan import plan
from ..plugin_utils._run import leases, model, rounds, run_state
from ..plugin_utils._run import round as _round
from ..plugin_utils._run import run as _run
from ..plugin_utils._run import view as _view
from ..plugin_utils._run.orders import left_to_tasks, to_be_read_again
from ..plugin_utils._run.summary import run_summary
from ..plugin_utils._steps import kinds, work

ACTIONS = (
    "begin",
    "plan",
    "check",
    "decide",
    "confirm_drain",
    "order",
    "confirm_approval",
    "record",
    "leftovers",
    "sum_up",
)
OPTIONS = dict(
    do=dict(type="str", required=True, choices=ACTIONS),
    run_id=dict(type="str"),
    lock_hosts=dict(type="list", elements="str"),
    pattern=dict(type="str", default="all"),
    pattern_hosts=dict(type="list", elements="str", default=[]),
    records=dict(type="list", elements="dict", default=[]),
    nodes=dict(type="list", elements="dict", default=[]),
    run_settings=dict(type="dict", default={}),
)
READ = (*plan.PLAN_VARIABLES, "maintenance_service")
REGISTERED = ("drain_result", "approve_result", "restore_result")
LEASE_ANSWERS = "__lease_answers"
READ_AGAIN = "__read_again"


class ActionModule(ActionBase):
    _supports_check_mode = True
    _requires_connection = False

    @ansible.in_one_sentence
    def run(self, tmp: None = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        super().run(tmp, task_vars)
        _unused, options = self.validate_argument_spec(argument_spec=OPTIONS)
        self.task_vars = task_vars or {}
        self.hostvars = self.task_vars["hostvars"]
        self.options = options
        self.now = time.time()
        self.store = RunStore(constants.DEFAULT_LOCAL_TMP)
        # Host -> what it is to do next, where that is decided here.
        self.orders: dict[str, dict[str, t.Any]] | None = None
        # Lease -> what its lock hosts are told next.
        self.lease_terms: dict[str, dict[str, t.Any]] = {}
        try:
            self.run_settings = model.read_run_settings(ansible.plain(options["run_settings"]))
            if options["do"] != "begin":
                self.state: run_state.RunState = run_state.as_read(self.store.state())
            result = getattr(self, f"_{options['do']}")()
            self._keep()
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
        except Overtaken:
            raise AnsibleActionFail("Another task of this run has gone on meanwhile: this one does nothing") from None
        # Azure's words are in it: text, never a template. Before ansible-core 2.19 that has to be said.
        return wrap_var({"changed": False, **result})

    def _keep(self) -> None:
        """Written before anything is done about it."""
        state, known = run_state.as_written(self.state), _run.for_the_actions(self.state)
        if self.options["do"] == "begin":
            self.store.begin(state, self._plays(), **known)
        else:
            changes = self.options["do"] in ("plan", "record")
            known["lease_terms"] = self.lease_terms
            self.store.keep(state, self._plays() if changes else None, self.orders, **known)

    def _plays(self) -> dict[str, t.Any]:
        plays = _run.for_the_plays(self.state, self.run_settings, self.now)
        if self.run_settings.plan_only and self.state["plan"]:
            plays["planned"] = _run.in_numbers(self.state["plan"])
        return plays

    @property
    def batch(self) -> list[str]:
        """The hosts of the batch that can be reached."""
        return [str(host) for host in self.task_vars["ansible_play_batch"]]

    def _variables(self, hosts: t.Iterable[str], *more: str) -> dict[str, dict[str, t.Any]]:
        found = text.needed_vars(
            hosts, self.hostvars, tuple(dict.fromkeys((*READ, *readings.LAST_READING, *more))), texts=plan.PLAN_TEXTS
        )
        documents = readings.Documents(constants.DEFAULT_LOCAL_TMP)
        for known in found.values():
            known["maintenance_status"] = readings.last_reading(known)
            if isinstance(known.get("maintenance_status"), dict):
                known["maintenance_status"] = documents.whole(ansible.plain(known["maintenance_status"]), self.now)
        return found

    def _inventory(self, hosts: t.Iterable[str]) -> _view.Inventory:
        mine = set(hosts)

        def elsewhere() -> dict[str, list[str]]:
            others = [str(host) for host in self.hostvars if host not in mine]
            return hosts_by_vm_name(others, text.needed_vars(others, self.hostvars, NAME_VARIABLES))

        def names() -> InventoryNames:
            return InventoryNames(self.state["lease_of"], self.state["vms"])

        return _view.Inventory(elsewhere, names)

    def _answers(self) -> dict[str, dict[str, t.Any]]:
        """Lease -> lock host -> what it answered. Who asked whom does not matter."""
        # Where one host has asked for all, all have its answers; else each host has a part of them.
        if len(_asked(self.task_vars)) == len(self.state["round"]["calls"]):
            return _by_lease([self.task_vars])
        return _by_lease(text.needed_vars(self.batch, self.hostvars, (LEASE_ANSWERS,)).values())

    def _read_again(self) -> dict[str, dict[str, t.Any]] | None:
        """Hosts outside of the batch that had to be read first, with what they have said; None before that."""
        others = self.state["round"].get("others")
        if others is None:
            return None
        said = {}
        for variables in text.needed_vars(self.batch, self.hostvars, (READ_AGAIN,)).values():
            for result in (variables.get(READ_AGAIN) or {}).get("results", ()):
                if result["__other"] in others:
                    said[str(result["__other"])] = ansible.plain(result)
        found = text.needed_vars(list(said), self.hostvars, READ)
        documents = readings.Documents(constants.DEFAULT_LOCAL_TMP)
        return {
            host: {**found.get(host, {}), "maintenance_status": documents.whole(status, self.now)}
            for host, status in said.items()
        }

    def _begin(self) -> dict[str, t.Any]:
        hosts = [str(host) for host in self.task_vars["ansible_play_hosts_all"]]
        self._check_pattern(hosts)
        inventory = [str(host) for host in self.hostvars if host != "localhost" or host in hosts]
        names = ("maintenance_delivery_group", *(["maintenance_service"] if self._counts_services() else []))
        variables = text.needed_vars(inventory, self.hostvars, names, texts=(*lease.SIGNS_OF_WINDOWS, *plan.PLAN_TEXTS))
        groups = {host: str(known.get("maintenance_delivery_group") or "") for host, known in variables.items()}
        run_id = self.options["run_id"] or str(uuid.uuid4())
        windows = lease.windows_hosts(variables)
        services = self._services(variables, hosts) if self._counts_services() else {}
        vms = known_vms(inventory, ansible.plain(variables))
        self.state = _run.begin(run_id, self.now, hosts, groups, self.options["lock_hosts"], windows, services, vms)
        # Where steps leave a record: those machines are asked who is drained there.
        found = {place for places in self._needs(hosts).values() for place in places}
        return {
            "run_id": run_id,
            "plays": str(self.store.plays),
            "places": [place._asdict() for place in sorted(found) if isinstance(place, kinds.RecordsPlace)],
            "clusters": [place._asdict() for place in sorted(found) if isinstance(place, kinds.Cluster)],
        }

    def _check_pattern(self, hosts: t.Sequence[str]) -> None:
        """A play's host pattern knows extra variables and those of import_playbook, but none of the inventory."""
        if not set(hosts) <= set(text.host_names(self.options["pattern_hosts"])):
            raise ValueError(
                f"maintenance_hosts is {self.options['pattern']} in the inventory, where plays can't see it, so they"
                " would run on other hosts too. Give it with -e maintenance_hosts=PATTERN, or as a variable of"
                " import_playbook."
            )

    def _counts_services(self) -> bool:
        return self.run_settings.settings.min_in_service is not None

    def _services(self, variables: t.Mapping[str, t.Mapping[str, t.Any]], hosts: t.Iterable[str]) -> dict[str, str]:
        """A service is all hosts that have its name, else all hosts of the pattern: whatever --limit says."""
        found = {host: str(known.get("maintenance_service") or "").strip() for host, known in variables.items()}
        of_the_pattern = {*text.host_names(self.options["pattern_hosts"]), *hosts}
        return {host: service for host, service in found.items() if service or host in of_the_pattern}

    def _needs(self, hosts: t.Sequence[str]) -> dict[str, list[_run.RecordHolder]]:
        def resolved(host: str, value: t.Any) -> t.Any:
            if not isinstance(value, str) or "{" not in value:
                return value
            variables = {**self.hostvars.raw_get(host), "hostvars": self.hostvars, "inventory_hostname": host}
            variables["maintenance_event"] = work.NO_EVENT
            try:
                return ansible.plain(self._templar.copy_with_new_env(available_variables=variables).template(value))
            except AnsibleError as error:
                raise ValueError(f"{host}: drain_steps can't be resolved: {error}") from None

        def raw(host: str) -> t.Mapping[str, t.Any]:
            return self.hostvars.raw_get(host) if host in self.hostvars else {}

        machines, clusters = kinds.places_of(hosts, raw, resolved), kinds.clusters_of(hosts, raw, resolved)
        return {host: [*machines.get(host, ()), *clusters.get(host, ())] for host in (*machines, *clusters)}

    def _with_records(self) -> None:
        if self.state["number_of_pass"] > 0:
            return
        answers: dict[_run.RecordHolder, t.Any] = {
            kinds.RecordsPlace(**ansible.plain(one["__place"])): ansible.plain(one) for one in self.options["records"]
        }
        for one in self.options["nodes"]:
            answers[kinds.Cluster(**ansible.plain(one["__cluster"]))] = _run.answer_of_cluster(ansible.plain(one))
        hosts = self.state["hosts"]
        needs = self._needs(hosts)
        others = {host for answer in answers.values() for host in _run.recorded_hosts(answer)} - set(hosts)
        for host in sorted(others & self.state["lease_of"].keys()):
            try:
                needs.update(self._needs([host]))
            except ValueError:
                # Nobody can say that its steps do not act there.
                needs[host] = list(answers)
        if needs:
            self.state = _run.with_records(self.state, needs, answers)

    def _plan(self) -> dict[str, t.Any]:
        self._with_records()
        taken_away = set(_run.hosts_taken_away(self.state))
        hosts = [host for host in self.state["hosts"] if host not in taken_away]
        self.state = _run.plan(self.state, self._variables(hosts), self.run_settings, self._inventory(hosts), self.now)
        made = self.state["plan"]
        if self.state["number_of_pass"] > 1 and not made["waves"]:
            return {}
        # Shown as what the module debug returns.
        return {"msg": [*made["lines"], *_run.foreign_records(self.state)], "_ansible_verbose_always": True}

    def _check(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        if turn.get("goes_on"):
            return {"stop": "", "lines": [], "calls": self._to_ask(turn["lease"], False), "reads": turn["reads"]}
        found = _run.check(self.state, self.batch, self.run_settings, self.now)
        if found["stop"]:
            self.state["stopped"] = found["stop"]
        wave = found["wave"]["number"] if found["wave"] else 0
        self.state["round"] = {
            "wave": wave,
            "hosts": found["hosts"],
            "reads": found["reads"],
            "lease": found["calls"],
            "calls": found["calls"],
        }
        told = {name: found[name] for name in ("stop", "lines", "reads")}
        return {**told, "calls": self._to_ask(found["calls"], False)}

    def _decide(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        again = self._read_again()
        if not turn["reads"]:
            others = _round.read_first(self.state, turn["hosts"], self.run_settings, self._answers(), self.now)
            if others is not None:
                turn["reads"], turn["others"] = turn["hosts"], others
                return {"reads": turn["reads"], "others": others, "calls": []}
        found = _round.decide(
            self.state,
            self._variables(turn["hosts"]),
            self.run_settings,
            self._inventory(turn["hosts"]),
            self._answers(),
            self.now,
            again,
        )
        if found["others"]:
            turn["others"] = found["others"]
            return {"reads": [], "others": found["others"], "calls": []}
        turn["decision"], turn["calls"] = found, found["calls"]
        warnings = leases.outvoted(self.state, self.now)
        return {
            "reads": [],
            "others": [],
            "calls": self._to_ask(found["calls"]),
            **({"warnings": warnings} if warnings else {}),
        }

    def _confirm_drain(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        turn["decision"] = _round.confirm_drain(self.state, turn["decision"], self._answers(), self.now)
        found, fences = turn["decision"]["round"], turn["decision"]["fences"]
        events = found["drain_for"]
        self._order_hosts({host: {"events": events[host], "fence": fences[host]} for host in found["drain"]})
        return {}

    def _order(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        found = turn["decision"]["round"]
        results = self._registered("drain_result", found["drain"])
        unfinished = left_to_tasks(results)
        reads = {*unfinished, *to_be_read_again(results, self.run_settings.oldest_reading, self.now)}
        if reads and not turn.get("finished"):
            turn["finished"] = True
            return {"by_tasks": unfinished, "reads": sorted(reads), "calls": []}
        variables, inventory = self._variables(turn["hosts"]), self._inventory(turn["hosts"])
        orders, held, calls = _round.order(self.state, found, variables, self.run_settings, inventory, self.now)
        return {"by_tasks": [], "reads": [], **self._orders_told(orders, held, calls)}

    def _confirm_approval(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        orders, held = _round.confirm_approval(self.state, turn["orders"], self._answers(), turn["calls"], self.now)
        told = self._orders_told(orders, held, [])
        self._order_hosts(orders)
        return told

    def _orders_told(
        self, orders: dict[str, run_state.Order], held: dict[str, str], calls: list[run_state.LeaseCall]
    ) -> dict[str, t.Any]:
        turn = self.state["round"]
        turn["orders"], turn["calls"], turn["finished"] = orders, calls, False
        found = turn["decision"]["round"]
        found["held"].update(held)
        found["again"] = found["again"] or bool(held) or any(one["drain"] == "put_off" for one in orders.values())
        return {
            "calls": self._to_ask(calls),
            # The others are marked by the command that approves.
            "marked_before": [
                host for host, one in orders.items() if one["acts"] and not marks_name_only(host, one["marks"])
            ],
        }

    def _to_ask(self, calls: t.Sequence[run_state.LeaseCall], with_notes: bool = True) -> list[dict[str, t.Any]]:
        """What the plays need to know of these calls."""
        if with_notes:
            self.lease_terms = {call["group"]: {name: call[name] for name in ("notes", "forget")} for call in calls}
        return [{"group": call["group"], "lock_host": call["lock_host"], "with_notes": with_notes} for call in calls]

    def _order_hosts(self, orders: t.Mapping[str, t.Mapping[str, t.Any]]) -> None:
        self.orders = {host: {**order, "run_id": self.state["run_id"]} for host, order in orders.items()}

    def _registered(self, name: str, hosts: t.Iterable[str]) -> dict[str, t.Any]:
        found = text.needed_vars(hosts, self.hostvars, (), texts=(name,))
        return {host: known.get(name) or {} for host, known in found.items()}

    def _leftovers(self) -> dict[str, t.Any]:
        since = self.state["round"].get("since", self.now)
        orders, pause = _run.return_leftovers(
            self.state, self._variables(self.batch), self.run_settings, since, self.now
        )
        # What others have noted counts with a lease, and here is none.
        self.state["notes"] = []
        self.state["round"] = {"wave": 0, "hosts": self.batch, "orders": orders, "since": since}
        self._order_hosts(orders)
        return {"pause": pause}

    def _record(self) -> dict[str, t.Any]:
        turn = self.state["round"]
        orders = turn["orders"]
        unfinished = left_to_tasks(
            self._registered("restore_result", [host for host, one in orders.items() if one["restore"]])
        )
        if unfinished and not turn.get("finished"):
            turn["finished"] = True
            return {"by_tasks": unfinished, "reads": [], "calls": [], "of_others": False, "again": False}
        turn["finished"] = False
        found = turn["decision"]["round"] if "decision" in turn else None
        hosts = list(orders)
        variables = self._variables(hosts, *REGISTERED)
        self.state, calls, of_others = _round.record(self.state, orders, found, variables, turn["wave"], self.now)
        result = {"by_tasks": [], "calls": self._to_ask(calls), "of_others": of_others}
        if found is None:
            return result
        again, pause = rounds.goes_on(self.state, found, hosts, self.batch, self.run_settings, self.now)
        hosts = rounds.left_of_the_batch(self.state, found, self.batch) if again else []
        # Without hosts the batch ends, and the next one begins anew.
        self.state["round"] = {}
        if hosts:
            self.state["round"] = {
                "wave": turn["wave"],
                "hosts": hosts,
                "reads": hosts,
                "lease": turn["lease"],
                "calls": turn["lease"],
                "goes_on": True,
            }
        held = [f"Event {event} waits: {why}" for event, why in found["held"].items()]
        return {**result, "again": bool(hosts), "reads": hosts, "pause": pause, "lines": held}

    def _sum_up(self) -> dict[str, t.Any]:
        run = {**self.state, "ended_at": text.iso_time(self.now)}
        summary = run_summary(run, self.state["outcomes"], self.state["plan"])
        # As the module set_stats returns it, for later jobs.
        stats = {"data": {"maintenance_run": summary["artifact"]}, "per_host": False, "aggregate": False}
        return {**summary, "ansible_stats": stats}


def _by_lease(askers: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, dict[str, t.Any]]:
    found: dict[str, dict[str, t.Any]] = {}
    for variables in askers:
        for result in _asked(variables):
            call = result["__call"]
            found.setdefault(str(call["group"]), {})[str(call["lock_host"])] = ansible.plain(result)
    return found


def _asked(variables: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    """What one host was answered; who had nobody to ask has an item without a lease."""
    results = (variables.get(LEASE_ANSWERS) or {}).get("results", ())
    return [result for result in results if "group" in result["__call"]]
