# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: scheduled_events
short_description: Target hosts by the maintenance that Azure has planned for them
version_added: 0.1.0
author: maintenance.azure contributors (@maintenance-azure)
description:
  - Lays Azure's Scheduled Events over the hosts that other inventory sources define, such as
    P(azure.azcollection.azure_rm#inventory) or a static file, so that C(ansible maintenance_type_reboot -m ...) works.
  - Its configuration file ends in C(scheduled_events.yml) or C(scheduled_events.yaml) and comes after the sources that
    define the hosts.
  - A host that was read is in the group C(maintenance_clear), or in C(maintenance_pending), C(maintenance_started) or
    both. An unread host is in C(maintenance_unknown), and a warning says why. It is never taken for clear.
  - The groups C(maintenance_type_<type>), C(maintenance_source_<source>) and C(maintenance_update_domain_<n>) hold the
    hosts that were read and have such an event, or are in that update domain.
  - Every host that was read gets the variable C(maintenance_status), with the events that affect it. It is the
    structure that M(maintenance.azure.scheduled_event_info) returns.
  - In which cases one host's reading speaks for another is told with O(covers) and O(delivery_group_var).
requirements:
  - requests, with O(source=imds)
  - jmespath, with O(query)
extends_documentation_fragment:
  - constructed
  - inventory_cache
options:
  plugin:
    description: Marks the file as a configuration of this plugin.
    type: str
    required: true
    choices: [maintenance.azure.scheduled_events]
  source:
    description:
      - Where readings come from.
      - V(imds) reads metadata endpoints from the controller.
      - V(facts) takes the C(maintenance_status) facts from the fact cache, where the playbook
        C(maintenance.azure.collect) puts them.
      - V(file) takes saved readings.
    type: str
    choices: [imds, facts, file]
    default: imds
  endpoints:
    description:
      - The endpoints to read with O(source=imds), as C(http://ADDRESS) or C(http://ADDRESS:PORT).
      - One endpoint per delivery group is enough, as Azure shows an event to the whole group. A delivery group is an
        availability set, a placement group of a scale set, or a single VM.
      - The default is the service of the controller's own VM. It is read only if no host carries O(endpoint_var).
    type: list
    elements: str
    default: [http://169.254.169.254]
  endpoint_var:
    description:
      - Hosts that carry this variable are read at the address that it holds, with O(source=imds).
      - An address that hosts share is read once, for all of them.
      - A link-local address, such as the service's own, means another VM for each machine that asks. It is not read
        on behalf of a host.
    type: str
    default: maintenance_endpoint
  delivery_group_var:
    description:
      - Hosts that carry the same value in this variable are known to be in one delivery group, so a reading of one of
        them speaks for all.
      - With O(source=imds) one of them is asked, and the next one if that fails.
      - Hosts that are not asked do not tell their update domain.
    type: str
    default: maintenance_delivery_group
  covers:
    description:
      - What a reading says about hosts that it does not name, that it was not taken for and that share no known
        delivery group with the VM that answered.
      - V(all) means that you list enough, so that all O(endpoints) or O(paths) together see every host. A host that
        none of them names is clear. That does not hold for a host with an endpoint of its own, nor for a host whose
        C(resource_group) is another one than that of each VM that answered, nor for any host as soon as one of the
        endpoints or paths could not be read.
      - V(named) means that such hosts are unread.
      - V(auto) is V(all) for O(source=imds), unless O(endpoints) has a link-local address, as it has by default. It is
        V(named) in all other cases.
    type: str
    choices: [auto, all, named]
    default: auto
  paths:
    description:
      - The saved readings for O(source=file), as files or globs, relative to the folder of the configuration file.
      - Each file is JSON, and is either an event document as the service sent it or a C(maintenance_status) structure.
      - An event document does not say when it was read. The time of the file's last change counts.
    type: list
    elements: str
  vm_name_from:
    description: Host variables that may hold the name of the VM, first found wins.
    type: list
    elements: str
    default: [maintenance_vm_name, name, computer_name, inventory_hostname]
  create_hosts:
    description:
      - Add a host for each VM that is named by an event, or that answered, and that no other source defines.
      - VMs of one name in several resource groups become hosts named C(<vm>_<resource group>).
    type: bool
    default: false
  query:
    description:
      - A JMESPath expression that picks events out of the list of events, such as V([?type == 'Reboot']).
      - Events that it does not pick are left out of groups and variables. A host that is left with none is clear.
    type: str
  max_age:
    description:
      - How many seconds ago a host may have been read. A host whose newest reading is older is unread.
      - Without it a reading never gets too old, so set it with O(source=facts), O(source=file) and O(cache).
    type: int
  group_prefix:
    description: What the names of all groups start with.
    type: str
    default: maintenance_
  on_error:
    description:
      - What to do when something could not be read, or only too long ago.
      - V(mark) warns, and puts the unread hosts into C(maintenance_unknown).
      - V(fail) ends the command with an error. Ansible itself would go on without a source that fails.
    type: str
    choices: [mark, fail]
    default: mark
  workers:
    description: How many endpoints are read at the same time.
    type: int
    default: 20
  api_version:
    description:
      - The version of the Scheduled Events interface to ask for with O(source=imds).
      - Older versions leave out fields and hide events of newer types.
      - V(auto) is for clouds that lack the newest ones. Each endpoint is asked for the newest version first and then
        for older ones, one more request for each that is refused with the status 400. It warns of the event types that
        the version it has found never shows.
    type: str
    choices: ["2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01", auto]
    default: "2020-07-01"
  timeout:
    description:
      - Seconds for one endpoint, repeated requests included.
      - The default leaves room for the very first request, which switches the service on and may take two minutes.
      - Where nothing accepts a connection, an endpoint is given up after some 15 seconds, however long this is.
    type: int
    default: 130
  use_vars_plugins:
    description:
      - Also look for the variables of hosts in C(host_vars/) and C(group_vars/) next to the other sources, as
        P(ansible.builtin.constructed#inventory) does with the option of this name.
    type: bool
    default: false
notes:
  - Only O(source=imds) uses O(cache), as the other sources are stores already. Times in the cache are absolute, an
    answer's lifetime counts from when it was read, and what could not be read is not cached.
  - A C(maintenance_status) fact in the fact cache takes precedence over the variable that this plugin sets, as all
    facts do. Within a play, a cached fact hides what O(source=imds) has read.
  - Reading is not neutral. The first request switches Scheduled Events on for the VM's whole delivery group.
seealso:
  - module: maintenance.azure.scheduled_event_info
"""

EXAMPLES = r"""
# The hosts come from azure_rm; one VM of each availability set relays its metadata service to the controller.
# ansible -i azure_rm.yml -i scheduled_events.yml maintenance_type_reboot -m ansible.builtin.command -a 'uptime -s'
plugin: maintenance.azure.scheduled_events
endpoints:
  - http://10.1.0.4:8080
  - http://10.2.0.4:8080
timeout: 20
---
# From facts that the playbook maintenance.azure.collect put into the fact cache, of the last ten minutes.
plugin: maintenance.azure.scheduled_events
source: facts
max_age: 600
---
# From saved readings, adding the VMs that they name. Works on its own, such as in an AWX inventory source.
plugin: maintenance.azure.scheduled_events
source: file
paths:
  - readings/*.json
create_hosts: true
---
# Only what takes a VM down, with a group per zone made of it, and answers kept for a minute.
plugin: maintenance.azure.scheduled_events
query: "[?type != 'Freeze']"
keyed_groups:
  - prefix: maintenance_zone
    key: maintenance_status.this_host.zone | default('none', true)
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: /tmp/scheduled_events
cache_timeout: 60
"""

import time
import typing as t
from pathlib import Path

from ansible import constants as C  # noqa: N812 - what all of Ansible calls it
from ansible.errors import AnsibleError, AnsibleParserError
from ansible.inventory.helpers import get_group_vars
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.plugins.loader import cache_loader
from ansible.utils.vars import combine_vars
from ansible.vars.plugins import get_vars_from_inventory_sources

from ..plugin_utils._common import ansible
from ..plugin_utils._inventory import matching
from ..plugin_utils._inventory.matching import InventoryHost
from ..plugin_utils._inventory.overlay import HostVariables, make_overlay
from ..plugin_utils._inventory.sources import EndpointReader, ReadingOrFailure, read_facts, read_files


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    NAME = "maintenance.azure.scheduled_events"

    def verify_file(self, path: str) -> bool:
        return super().verify_file(path) and path.endswith(("scheduled_events.yml", "scheduled_events.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        self._read_settings(path)
        query = self._checked_options()
        hosts = self._hosts()
        readings, failures = self._read(hosts, path, cache)
        settings = matching.OverlaySettings(
            now=time.time(),
            prefix=self.get_option("group_prefix"),
            max_age=self.get_option("max_age"),
            covers_all=self._covers_all(),
            create_hosts=self.get_option("create_hosts"),
            reserved=inventory.groups,
            query=query,
            guard=ansible.guard,
        )
        try:
            overlay = make_overlay(hosts, readings, failures, settings)
        except ansible.BadQuery as error:
            raise AnsibleParserError(str(error)) from None
        self._tell(overlay)
        self._lay_over(overlay)
        self._construct()

    # -- options

    def _read_settings(self, path: str) -> None:
        try:
            self._endpoints_given = "endpoints" in self._read_config_data(path)
        except AnsibleParserError as error:
            if "Incorrect plugin name" not in str(error):
                raise
            raise AnsibleParserError(f"{path} has no line that says plugin: {self.NAME}") from None

    def _checked_options(self) -> t.Callable[[t.Any], t.Any] | None:
        for name, least in (("workers", 1), ("timeout", 1), ("max_age", 0)):
            value = self.get_option(name)
            if value is not None and value < least:
                raise AnsibleParserError(f"{name} must be at least {least}, not {value}")
        if self.get_option("source") == "file" and not self.get_option("paths"):
            raise AnsibleParserError("source: file needs paths, the files or globs of the saved readings")
        if not self.get_option("query"):
            return None
        try:
            return ansible.compile_query(self.get_option("query"))
        except ansible.BadQuery as error:
            raise AnsibleParserError(str(error)) from None

    def _covers_all(self) -> bool:
        covers: str = self.get_option("covers")
        if covers != "auto":
            return covers == "all"
        return self.get_option("source") == "imds" and not any(
            map(matching.is_asked_from_within, self.get_option("endpoints"))
        )

    # -- what is there already

    def _hosts(self) -> list[InventoryHost]:
        variables = HostVariables(
            self.inventory,
            self.get_option("vm_name_from"),
            self.get_option("endpoint_var"),
            self.get_option("delivery_group_var"),
            more=self._of_vars_plugins if self.get_option("use_vars_plugins") else None,
            resolve=self._resolved,
        )
        return [variables.host(name) for name in self.inventory.hosts]

    def _of_vars_plugins(self, *entities: t.Any) -> dict[str, t.Any]:
        return get_vars_from_inventory_sources(self.loader, self.inventory.processed_sources, list(entities), "all")

    def _resolved(self, host: str, name: str, value: str) -> t.Any:
        """A variable's value where that is a template, as it may be in the user's own files."""
        self.templar.available_variables = self._variables_of(host)
        try:
            return self.templar.template(value)
        except AnsibleError as error:
            self.display.warning(f"{name} of {host} can't be used: {error}")
            return None

    def _variables_of(self, name: str) -> dict[str, t.Any]:
        host = self.inventory.hosts[name]
        of_groups, own = get_group_vars(host.get_groups()), host.get_vars()
        if self.get_option("use_vars_plugins"):
            of_groups = combine_vars(of_groups, self._of_vars_plugins(*host.get_groups()))
            own = combine_vars(own, self._of_vars_plugins(host))
        return combine_vars(of_groups, own)

    # -- reading

    def _read(self, hosts: list[InventoryHost], path: str, cache: bool) -> ReadingOrFailure:
        source = self.get_option("source")
        if source == "file":
            return read_files(self.get_option("paths"), Path(path).absolute().parent)
        if source == "facts":
            return self._read_facts([host.name for host in hosts])
        return self._read_endpoints(hosts, path, cache)

    @staticmethod
    def _fact_store() -> t.Any:
        if C.CACHE_PLUGIN in ("memory", "ansible.builtin.memory"):
            raise AnsibleError(
                "source: facts needs a fact cache that outlives a run, and none is configured: set fact_caching,"
                " such as to jsonfile, and fact_caching_connection in ansible.cfg"
            )
        try:
            store = cache_loader.get(C.CACHE_PLUGIN)
        except AnsibleError as error:
            raise AnsibleError(f"The fact cache {C.CACHE_PLUGIN} can't be used: {error}") from None
        if store is None:
            raise AnsibleError(f"The fact cache {C.CACHE_PLUGIN} can't be used: there is no such cache plugin")
        return store

    def _read_facts(self, names: list[str]) -> ReadingOrFailure:
        try:
            store = self._fact_store()
        except AnsibleError as error:
            return [], [matching.Failure("fact cache", str(error), tuple(names))]

        def facts_of(host: str) -> t.Any:
            try:
                return store.get(host)
            except KeyError:
                return None
            except AnsibleError as error:
                raise ValueError(str(error)) from None

        return read_facts(names, facts_of, f"the fact cache ({C.CACHE_PLUGIN})")

    def _read_endpoints(self, hosts: list[InventoryHost], path: str, cache: bool) -> ReadingOrFailure:
        # Here, as the other sources do without requests, which takes longer to load than they take to read.
        from ..plugin_utils._inventory.sources import REQUESTS_ERROR, RequestsTransport

        # Outside Azure nobody answers at the default address, and that takes its time to find out.
        wanted = self._endpoints_given or not any(host.endpoint for host in hosts)
        endpoints = self.get_option("endpoints") if wanted else []
        asked = matching.questions(hosts, [matching.normal_endpoint(endpoint) for endpoint in endpoints])
        if REQUESTS_ERROR:
            text = f"source: imds needs the Python package requests: pip install requests ({REQUESTS_ERROR})"
            carriers = tuple(host.name for host in hosts if host.endpoint)
            return [], [matching.Failure("requests", text, carriers, listed=True)]
        key = self.get_cache_key(path)
        kept = self._kept(key) if cache and self.get_option("cache") else {}
        now, lifetime = time.time(), self.get_option("cache_timeout")
        reader = EndpointReader(
            RequestsTransport,
            self.get_option("api_version"),
            self.get_option("timeout"),
            known=lambda endpoint, identity: matching.from_cache(endpoint, kept.get(endpoint), identity, now, lifetime),
        )
        result = reader.read(asked, self.get_option("workers"))
        if self.get_option("cache") and reader.fresh:
            fresh = {endpoint: matching.to_cache(*answer) for endpoint, answer in reader.fresh.items()}
            # Set only when there is news: Ansible writes what was set, and a written cache is a young one.
            self._cache[key] = {**kept, **fresh}
        for warning in reader.warnings:
            self.display.warning(warning)
        return result

    def _kept(self, key: str) -> dict[str, t.Any]:
        try:
            kept = self._cache.get(key)
        except (AnsibleError, ValueError) as error:
            self.display.warning(f"The inventory cache can't be read, so everything is read anew: {error}")
            return {}
        return kept if isinstance(kept, dict) else {}

    # -- doing

    def _tell(self, overlay: matching.Overlay) -> None:
        if overlay.problems and self.get_option("on_error") == "fail":
            # An exception would make Ansible warn and go on without this source: no host would be pending or unread.
            self.display.error(f"on_error is fail, and not everything could be read. {' '.join(overlay.problems)}")
            raise SystemExit(1)
        for warning in overlay.warnings:
            self.display.warning(warning)
        for detail in overlay.details:
            self.display.v(detail)

    def _lay_over(self, overlay: matching.Overlay) -> None:
        for name in overlay.created:
            self.inventory.add_host(name)
        hosts = self.inventory.hosts
        for group, members in overlay.groups.items():
            group = self.inventory.add_group(group)
            for name in members:
                self.inventory.add_child(group, name)
        for name, vm_name in overlay.vm_names.items():
            hosts[name].set_variable("maintenance_vm_name", vm_name)
        for name, status in overlay.statuses.items():
            hosts[name].set_variable("maintenance_status", status)

    def _construct(self) -> None:
        """What the user wrote in Jinja. It costs milliseconds a host, so only if there is some."""
        compose, groups, keyed = (self.get_option(name) for name in ("compose", "groups", "keyed_groups"))
        if not (compose or groups or keyed):
            return
        strict = self.get_option("strict")
        try:
            facts = self._fact_store()
        except AnsibleError:
            facts = None
        for name in self.inventory.hosts:
            self._set_composite_vars(compose, self._variables_for_jinja(name, facts), name, strict=strict)
            variables = self._variables_for_jinja(name, facts)
            self._add_host_to_composed_groups(groups, variables, name, strict=strict, fetch_hostvars=False)
            self._add_host_to_keyed_groups(keyed, variables, name, strict=strict, fetch_hostvars=False)

    def _variables_for_jinja(self, name: str, facts: t.Any) -> dict[str, t.Any]:
        variables = self._variables_of(name)
        own = {key: variables[key] for key in ("maintenance_status",) if key in variables}
        if facts is not None and facts.contains(name):
            # As for constructed; but what was just read is newer than a fact.
            variables = combine_vars(combine_vars(variables, ansible.guard(facts.get(name))), own)
        return variables
