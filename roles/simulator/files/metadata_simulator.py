# -*- coding: utf-8 -*-
# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays Azure's metadata service (Scheduled Events) for a fleet of VMs described in one JSON file.

Standard library only, Python 3.6 or newer. The guide is docs/simulator.md of the collection maintenance.azure;
what the simulator promises is the list of tests in tests/unit/simulator.

The parts, in the order of this file: facts of the service, checks of what people write, the fleet and its identities,
events and their life cycle, faults, the metadata service, the control interface, the network, the command line.

Two kinds of seconds: durations of the simulated world (notice, dwell, the slow first call, 24 hours of silence) are
"simulated seconds" and pass `speed` times as fast; rate limits and faults are in real seconds.
"""

import argparse
import collections
import contextlib
import ctypes
import email.utils
import errno
import http.client
import http.server
import ipaddress
import json
import math
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import uuid

try:
    import resource
except ImportError:  # not a POSIX system: the limit of open files stays what it is
    resource = None


# ---------------------------------------------------------------- facts of the service

PREVIEW_VERSION = "2017-03-01"
EVENT_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
EVENT_TYPE_SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}
EVENT_FIELD_SINCE = {"Description": "2019-04-01", "EventSource": "2019-08-01", "DurationInSeconds": "2020-07-01"}

# A separate list: these versions do not answer for events, and most event versions do not answer here.
INSTANCE_VERSIONS = (
    "2017-03-01",
    "2017-04-02",
    "2017-08-01",
    "2017-10-01",
    "2017-12-01",
    "2018-02-01",
    "2018-04-02",
    "2018-10-01",
    "2019-02-01",
    "2019-03-11",
    "2019-04-30",
    "2019-06-01",
    "2019-06-04",
    "2019-08-01",
    "2019-08-15",
    "2019-11-01",
    "2020-06-01",
    "2020-07-15",
    "2020-09-01",
    "2020-10-01",
    "2020-12-01",
    "2021-01-01",
    "2021-02-01",
    "2021-03-01",
    "2021-05-01",
    "2021-08-01",
    "2021-10-01",
    "2021-11-01",
    "2021-11-15",
    "2021-12-13",
    "2023-07-01",
    "2023-11-15",
    "2024-03-15",
    "2024-07-17",
    "2025-04-07",
)

COMPUTE_FIELD_SINCE = {
    "azEnvironment": "2018-10-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation": "2021-03-01",
    "host": "2021-11-15",
    "hostGroup": "2021-11-15",
    "isHostCompatibilityLayerVm": "2020-06-01",
    "location": "2017-04-02",
    "name": "2017-04-02",
    "offer": "2017-04-02",
    "osProfile": "2020-07-15",
    "osType": "2017-04-02",
    "physicalZone": "2023-11-15",
    "placementGroupId": "2017-08-01",
    "platformFaultDomain": "2017-04-02",
    "platformSubFaultDomain": "2021-10-01",
    "platformUpdateDomain": "2017-04-02",
    "priority": "2020-12-01",
    "provider": "2018-10-01",
    "publisher": "2017-04-02",
    "resourceGroupName": "2017-08-01",
    "resourceId": "2019-03-11",
    "sku": "2017-04-02",
    "subscriptionId": "2017-08-01",
    "tags": "2017-08-01",
    "tagsList": "2019-06-04",
    "version": "2017-04-02",
    "virtualMachineScaleSet": "2021-03-01",
    "vmId": "2017-04-02",
    "vmScaleSetName": "2017-12-01",
    "vmSize": "2017-04-02",
    "zone": "2017-12-01",
}

NOTICE_SECONDS = {"Freeze": 900, "Reboot": 900, "Redeploy": 600, "Preempt": 30, "Terminate": 300}
DEFAULT_NOTICE_SECONDS = 900
DEFAULT_DWELL_SECONDS = 600
FREEZE_SECONDS = 5
UNKNOWN_DURATION = -1

FAILURE = "Virtual machine has encountered a failure."
LIVE_MIGRATION = "Virtual machine is being paused because of a memory-preserving Live Migration operation."
DESCRIPTIONS = {
    ("Freeze", "Platform"): "Host server is undergoing maintenance.",
    ("Reboot", "Platform"): "Host server is undergoing maintenance.",
    ("Redeploy", "Platform"): FAILURE,
    ("Reboot", "User"): "Virtual machine is going to be restarted as requested by authorized user.",
    ("Redeploy", "User"): "Virtual machine is going to be redeployed as requested by authorized user.",
}

# Ready-made events for a rehearsal by hand; what the user writes next to "scenario" wins.
SCENARIOS = {
    "live_migration": {"type": "Freeze", "dwell": 300, "duration": 5, "description": LIVE_MIGRATION},
    "host_maintenance": {"type": "Freeze", "duration": 9},
    "user_reboot": {"type": "Reboot", "source": "User"},
    "user_redeploy": {"type": "Redeploy", "source": "User", "notice": 900},
    "platform_redeploy": {"type": "Redeploy", "notice": 900},
    "cancelled_maintenance": {"type": "Freeze", "duration": 9, "cancel_after": 480},
    "hardware_failure": {"type": "Reboot", "status": "Started", "description": FAILURE},
    "predicted_failure": {"type": "Redeploy", "notice": 5 * 86400},
    "spot_eviction": {"type": "Preempt"},
    "scale_in": {"type": "Terminate"},
}

DEFAULT_SETTINGS = {
    "speed": 1,
    "first_call_seconds": 0,
    "events_after_seconds": 0,
    "off_after_seconds": 86400,
    "reset_incarnation": True,
    "requests_per_second": 5,
    "unknown_event_status": 200,
    "user_events_wait_when_off": True,
}


# ---------------------------------------------------------------- checks of what people write


class InputError(Exception):
    """Something a person wrote cannot be used; the text is one sentence for that person."""


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value)


def a_text(value):
    return None if isinstance(value, str) and value and value.isprintable() else "a text of one line that is not empty"


def any_text(value):
    return None if isinstance(value, str) else "a text"


def a_duration(value):
    return None if is_number(value) and 0 <= value < 1e10 else "a number of seconds, 0 or more"


def a_positive_number(value):
    return None if is_number(value) and 0 < value < 1e10 else "a number greater than 0"


def an_integer(value):
    return None if isinstance(value, int) and not isinstance(value, bool) else "an integer"


def a_count(value):
    return None if an_integer(value) is None and value >= 0 else "an integer, 0 or more"


def at_least_one(value):
    return None if an_integer(value) is None and value >= 1 else "an integer, 1 or more"


def a_port(value):
    return None if an_integer(value) is None and 0 <= value <= 65535 else "a port number, 0 to 65535"


def a_status(value):
    return None if an_integer(value) is None and 200 <= value <= 599 else "an HTTP status, 200 to 599"


def a_boolean(value):
    return None if isinstance(value, bool) else "true or false"


def an_object(value):
    return None if isinstance(value, dict) else "an object"


def a_list(value):
    return None if isinstance(value, list) else "a list"


def texts(value):
    return None if isinstance(value, list) and all(a_text(item) is None for item in value) else "a list of texts"


def text_object(value):
    fits = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return None if fits else "an object whose values are texts"


def text_or_number(value):
    return None if isinstance(value, str) or an_integer(value) is None else "a text or an integer"


def anything(_dummy):
    return None


def one_of(*choices):
    def check(value):
        return None if value in choices else "one of " + ", ".join(json.dumps(choice) for choice in choices)

    return check


def checked(what, given, rules, required=()):
    """A copy of the object `given` without its nulls, or InputError with a sentence that names the offending key."""
    if not isinstance(given, dict):
        raise InputError("%s must be an object, not %s" % (what, json.dumps(given)[:80]))
    for key in given:
        if key not in rules:
            known = ", ".join(sorted(rules))
            raise InputError("%s: unknown key %s; known keys are %s" % (what, json.dumps(key), known))
    kept = {key: value for key, value in given.items() if value is not None}
    for key in required:
        if key not in kept:
            raise InputError("%s: %s is missing" % (what, json.dumps(key)))
    for key, value in kept.items():
        wanted = rules[key](value)
        if wanted:
            raise InputError("%s: %s must be %s, not %s" % (what, json.dumps(key), wanted, json.dumps(value)[:80]))
    return kept


SETTING_RULES = {
    "speed": a_positive_number,
    "first_call_seconds": a_duration,
    "events_after_seconds": a_duration,
    "off_after_seconds": a_duration,
    "reset_incarnation": a_boolean,
    "requests_per_second": a_count,
    "unknown_event_status": a_status,
    "user_events_wait_when_off": a_boolean,
}

FLEET_RULES = {"vms": a_list, "groups": an_object, "events": a_list, "settings": an_object}

GROUP_KINDS = ("availability_set", "scale_set", "cloud_service", "standalone")
GROUP_RULES = {
    "kind": one_of(*GROUP_KINDS),
    "name": a_text,
    "placement_group_id": any_text,
    "own_events_only": a_boolean,
    "auto_approve": texts,
    "resource_group": a_text,
    "subscription_id": a_text,
    "location": a_text,
}

VM_RULES = {
    "name": a_text,
    "key": a_text,
    "address": a_text,
    "port": a_port,
    "network_namespace": a_text,
    "group": a_text,
    "compute": an_object,
    "vm_id": a_text,
    "computer_name": a_text,
    "resource_group": a_text,
    "subscription_id": a_text,
    "location": a_text,
    "zone": text_or_number,
    "update_domain": text_or_number,
    "fault_domain": text_or_number,
    "tags": text_object,
    "priority": one_of("Regular", "Low", "Spot"),
}

NOT_BEFORE_FORMATS = ("rfc1123", "iso", "wrong_weekday", "missing", "empty")
EVENT_RULES = {
    "scenario": one_of(*sorted(SCENARIOS)),
    "id": a_text,
    "type": a_text,
    "status": one_of("Scheduled", "Started"),
    "resources": texts,
    "group": a_text,
    "source": a_text,
    "description": any_text,
    "duration": an_integer,
    "after": a_duration,
    "notice": a_duration,
    "late": a_duration,
    "approval_delay": a_duration,
    "cancel_after": a_duration,
    "dwell": a_duration,
    "not_before_format": one_of(*NOT_BEFORE_FORMATS),
    "extra": an_object,
    "omit": texts,
}


# ---------------------------------------------------------------- the fleet and its identities


def stable_guid(*words):
    """The same words give the same GUID in every run, so that a rehearsal can be repeated."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "maintenance.azure/simulator/" + "/".join(words)))


class Group:
    """An availability set, the placement group of a scale set, a cloud service, or a family of lone VMs."""

    def __init__(self, key, spec):
        self.key = key
        self.kind = spec.get("kind", "availability_set")
        self.name = spec.get("name", key)
        self.defaults = {word: spec[word] for word in ("resource_group", "subscription_id", "location") if word in spec}
        self.auto_approve = tuple(spec.get("auto_approve", ()))
        self.shares_events = self.kind != "standalone" and not spec.get("own_events_only", False)
        self.placement_group_id = spec.get("placement_group_id")
        self.size = 0


class Scope:
    """A delivery scope: the VMs that see the same events, with the switch and the counter that they share."""

    def __init__(self, name, group):
        self.name = name
        self.group = group
        self.vms = []
        self.reset()

    def reset(self):
        self.events = []
        self.incarnation = 1
        self.switched_on = False
        self.revealed = False
        self.ready_at = 0.0
        self.visible_at = 0.0
        self.last_request = 0.0

    def service_state(self, now):
        if not self.switched_on:
            return "off"
        return "on" if now >= self.visible_at else "switching on"


class Vm:
    """One VM: its name in events, the address where its metadata service listens, and its identity."""

    def __init__(self, spec, group, index):
        self.name = spec["name"]
        self.key = spec.get("key", self.name)
        self.address = spec.get("address")
        self.port = spec.get("port")
        self.network_namespace = spec.get("network_namespace")
        self.group = group
        self.index = index
        self.scope = None
        self.url = None
        self.spec = dict(group.defaults if group else {}, **spec)
        self.compute = merged(self._default_compute(), spec.get("compute", {}))

    def _kind(self):
        return self.group.kind if self.group else "standalone"

    def _default_compute(self):
        spec = self.spec
        resource_group = spec.get("resource_group", "rg-%s" % (self.group.key if self.group else "simulated"))
        subscription = spec.get("subscription_id", stable_guid("subscription"))
        provider = "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute" % (subscription, resource_group)
        in_scale_set = self._kind() == "scale_set"
        tags = spec.get("tags", {})
        return {
            "azEnvironment": "AzurePublicCloud",
            "evictionPolicy": "Deallocate" if spec.get("priority") == "Spot" else "",
            "extendedLocation": {"name": "", "type": ""},
            "host": {"id": ""},
            "hostGroup": {"id": ""},
            "isHostCompatibilityLayerVm": "false",
            "location": spec.get("location", "westeurope"),
            "name": self.name,
            "offer": "debian-12",
            "osProfile": {
                "adminUsername": "azureuser",
                "computerName": spec.get("computer_name", self._default_computer_name()),
                "disablePasswordAuthentication": "true",
            },
            "osType": "Linux",
            "physicalZone": "",
            "placementGroupId": self._placement_group_id() if in_scale_set else "",
            "platformFaultDomain": self._domain("fault_domain", 2 if self._kind() == "availability_set" else 5),
            "platformSubFaultDomain": "",
            "platformUpdateDomain": self._domain("update_domain", 5),
            "priority": spec.get("priority", ""),
            "provider": "Microsoft.Compute",
            "publisher": "Debian",
            "resourceGroupName": resource_group,
            "resourceId": provider + self._resource_path(),
            "sku": "12-gen2",
            "subscriptionId": subscription,
            "tags": ";".join("%s:%s" % pair for pair in sorted(tags.items())),
            "tagsList": [{"name": name, "value": value} for name, value in sorted(tags.items())],
            "version": "latest",
            "virtualMachineScaleSet": {
                "id": provider + "/virtualMachineScaleSets/" + self.group.name
                if in_scale_set and self._uniform_instance_id() is None
                else ""
            },
            "vmId": spec.get("vm_id", stable_guid("vm", subscription, resource_group, self.key)),
            "vmScaleSetName": self.group.name if in_scale_set else "",
            "vmSize": "Standard_D2s_v5",
            "zone": str(spec.get("zone", "")),
        }

    def _domain(self, word, count):
        if word in self.spec:
            return str(self.spec[word])
        if "zone" in self.spec:
            return ""
        return "0" if self._kind() == "standalone" else str(self.index % count)

    def _placement_group_id(self):
        given = self.group.placement_group_id
        return stable_guid("placement group", self.group.key) if given is None else given

    def _uniform_instance_id(self):
        """The number in `{scale set}_{number}`; VMs of a Flexible scale set have other names."""
        if self._kind() == "scale_set":
            match = re.match(r"^%s_(\d+)$" % re.escape(self.group.name), self.name)
            return match.group(1) if match else None
        return None

    def _resource_path(self):
        instance = self._uniform_instance_id()
        if instance is None:
            return "/virtualMachines/" + self.name
        return "/virtualMachineScaleSets/%s/virtualMachines/%s" % (self.group.name, instance)

    def _default_computer_name(self):
        """As in Azure: a Uniform scale set writes the instance id in base 36, so hostname and VM name differ."""
        instance = self._uniform_instance_id()
        return self.name if instance is None else self.group.name + base36(int(instance)).rjust(6, "0")

    def instance_document(self, version):
        return {"compute": self._compute_of(version), "network": self._network()}

    def _compute_of(self, version):
        return {
            name: value
            for name, value in sorted(self.compute.items())
            if version >= COMPUTE_FIELD_SINCE.get(name, PREVIEW_VERSION)
        }

    def _network(self):
        mac = "000D3A%06X" % (self.index + 1)
        ipv4 = {
            "ipAddress": [{"privateIpAddress": self.address, "publicIpAddress": ""}],
            "subnet": [{"address": "10.0.0.0", "prefix": "16"}],
        }
        return {"interface": [{"ipv4": ipv4, "ipv6": {"ipAddress": []}, "macAddress": mac}]}


def base36(number):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text


def merged(base, override):
    """`override` laid over `base`, object by object."""
    result = dict(base)
    for key, value in override.items():
        both_objects = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both_objects else value
    return result


class Fleet:
    """The VMs, groups and delivery scopes of a fleet file."""

    def __init__(self, document):
        top = checked("the fleet", document, FLEET_RULES, required=["vms"])
        if not top["vms"]:
            raise InputError('the fleet: "vms" is empty; name at least one VM')
        self.settings = dict(DEFAULT_SETTINGS, **checked("settings", top.get("settings", {}), SETTING_RULES))
        self.groups = {
            key: Group(key, checked("group %s" % json.dumps(key), spec, GROUP_RULES))
            for key, spec in top.get("groups", {}).items()
        }
        self.event_specs = top.get("events", [])
        self.vms = collections.OrderedDict()
        self.scopes = collections.OrderedDict()
        for number, spec in enumerate(top["vms"]):
            self._add_vm(number, checked("vms[%d]" % number, spec, VM_RULES, required=["name"]))
        for group in self.groups.values():
            if group.shares_events:
                self._scope(group.key, group)
        self._choose_addresses()

    def _add_vm(self, number, spec):
        group = None
        if "group" in spec:
            # A group that is only named, never described, is an availability set.
            group = self.groups.setdefault(spec["group"], Group(spec["group"], {}))
        vm = Vm(spec, group, group.size if group else number)
        if vm.key in self.vms:
            raise InputError(
                'two VMs are called %s; VMs of one name in different groups need a "key" each' % json.dumps(vm.key)
            )
        if group:
            group.size += 1
        self.vms[vm.key] = vm
        vm.scope = self._scope(group.key if group and group.shares_events else "vm:" + vm.key, group)
        if any(other.name.lower() == vm.name.lower() for other in vm.scope.vms):
            raise InputError("two VMs of group %s are called %s" % (json.dumps(vm.scope.name), json.dumps(vm.name)))
        vm.scope.vms.append(vm)

    def _scope(self, name, group):
        if name not in self.scopes:
            self.scopes[name] = Scope(name, group)
        return self.scopes[name]

    def _choose_addresses(self):
        taken = {}
        for vm in self.vms.values():
            if vm.address is None:
                continue
            try:
                vm.address = str(ipaddress.ip_address(vm.address))
            except ValueError:
                raise InputError(
                    "VM %s: %s is not an IP address" % (json.dumps(vm.key), json.dumps(vm.address))
                ) from None
            place = (vm.network_namespace, vm.address, vm.port)
            if vm.port != 0 and place in taken:
                raise InputError(
                    "VMs %s and %s have the same address %s"
                    % (json.dumps(taken[place]), json.dumps(vm.key), vm.address)
                )
            taken[place] = vm.key
        used = {address for _dummy, address, _dummy in taken}
        free = (str(address) for address in ipaddress.ip_network("127.81.0.0/16").hosts())
        for vm in self.vms.values():
            while vm.address is None:
                address = next(free)
                vm.address = None if address in used else address


# ---------------------------------------------------------------- events and their life cycle


class Clock:
    """Simulated seconds since the start, and their place on the wall clock."""

    def __init__(self, speed):
        self.speed = float(speed)
        self.reset()

    def reset(self):
        self._origin = time.time()
        self._advanced = 0.0

    def now(self):
        return (time.time() - self._origin) * self.speed + self._advanced

    def wall(self, simulated):
        return self._origin + (simulated - self._advanced) / self.speed

    def real_seconds_until(self, simulated):
        return max(0.0, self.wall(simulated) - time.time())

    def advance(self, seconds):
        self._advanced += seconds


class Event:
    """One event of one delivery scope, from planned to gone."""

    def __init__(self, spec, scope, resources):
        self.id = spec.get("id") or str(uuid.uuid4()).upper()
        self.type = spec["type"]
        self.source = spec.get("source", "Platform")
        self.description = spec.get("description", DESCRIPTIONS.get((self.type, self.source), ""))
        self.duration = spec.get("duration", FREEZE_SECONDS if self.type == "Freeze" else UNKNOWN_DURATION)
        self.resources = resources
        self.scope = scope
        self.straight_to_started = spec.get("status") == "Started"
        self.after = spec.get("after", 0)
        self.notice = spec.get("notice", NOTICE_SECONDS.get(self.type, DEFAULT_NOTICE_SECONDS))
        self.late = spec.get("late", 0)
        self.approval_delay = spec.get("approval_delay", 0)
        self.cancel_after = spec.get("cancel_after")
        self.dwell = spec.get("dwell", DEFAULT_DWELL_SECONDS)
        self.not_before_format = spec.get("not_before_format", "rfc1123")
        self.extra = spec.get("extra", {})
        self.omit = spec.get("omit", [])
        self.status = "Planned"
        self.created_at = None
        self.not_before = None
        self.approved_at = None
        self.approved_by = None
        self.started_at = None
        self.started_by = None
        self.times = {}

    def is_listed(self):
        return self.status in ("Scheduled", "Started")

    def start_without_approval(self):
        return self.not_before + self.late

    def cleared_at(self):
        """When this Terminate event stops holding back the others of its scope: approved, or timed out."""
        return self.not_before if self.approved_at is None else min(self.approved_at, self.not_before)

    def document(self, version, clock):
        """The event as this api-version shows it."""
        fields = collections.OrderedDict()
        fields["EventId"] = self.id
        fields["EventStatus"] = self.status
        fields["EventType"] = self.type
        fields["ResourceType"] = "VirtualMachine"
        fields["Resources"] = [self._resource_name(name, version) for name in self.resources]
        fields["NotBefore"] = self._not_before_text(clock)
        fields["Description"] = self.description
        fields["EventSource"] = self.source
        fields["DurationInSeconds"] = self.duration
        shown = collections.OrderedDict(
            (name, value)
            for name, value in fields.items()
            if value is not None and version >= EVENT_FIELD_SINCE.get(name, PREVIEW_VERSION)
        )
        shown.update(self.extra)
        for name in self.omit:
            shown.pop(name, None)
        return shown

    def is_shown_to(self, version):
        return self.is_listed() and version >= EVENT_TYPE_SINCE.get(self.type, PREVIEW_VERSION)

    def _resource_name(self, name, version):
        """In the preview version names of IaaS VMs carry an underscore; roles of a cloud service are not IaaS VMs."""
        is_role = self.scope.group is not None and self.scope.group.kind == "cloud_service"
        return "_" + name if version == PREVIEW_VERSION and not is_role else name

    def _not_before_text(self, clock):
        if self.not_before_format == "missing":
            return None
        if self.status == "Started" or self.not_before_format == "empty":
            return ""
        # Whole seconds, rounded down: the event never starts before the time that it announced.
        epoch = int(clock.wall(self.not_before))
        if self.not_before_format == "iso":
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
        text = email.utils.formatdate(epoch, usegmt=True)
        if self.not_before_format == "wrong_weekday":
            next_day = email.utils.formatdate(epoch + 86400, usegmt=True)
            return next_day[:3] + text[3:]
        return text

    def inside_view(self, clock):
        """The event as the control interface shows it."""
        return {
            "id": self.id,
            "type": self.type,
            "status": self.status,
            "source": self.source,
            "description": self.description,
            "duration": self.duration,
            "resources": self.resources,
            "group": self.scope.name,
            "notice": self.notice,
            "dwell": self.dwell,
            "approval_delay": self.approval_delay,
            "not_before": None if self.not_before is None else clock.wall(self.not_before),
            "approved": self.approved_at is not None,
            "approved_by": self.approved_by,
            "started_by": self.started_by,
            "times": dict(self.times),
        }


class World:
    """All that happens in the fleet. Every public method takes the lock and brings the events up to date first."""

    def __init__(self, fleet, clock, on_change=None):
        self.fleet = fleet
        self.settings = fleet.settings
        self.clock = clock
        self._on_change = on_change
        self._changed = threading.Condition(threading.RLock())
        self.reset()

    def reset(self):
        """The world as the fleet file describes it, at the beginning of its time."""
        with self._changed:
            self.clock.reset()
            self.events = collections.OrderedDict()
            self.changes = []
            self._live = []
            self._settled_to = 0.0
            self._next_due = None
            for scope in self.fleet.scopes.values():
                scope.reset()
            for number, spec in enumerate(self.fleet.event_specs):
                self.add_event(spec, "events[%d]" % number)
            self._changed.notify_all()

    # -- time

    def run_clock(self):
        """Runs for ever in a thread of its own, so that events go on when nobody asks."""
        with self._changed:
            while True:
                self._settle()
                due = self._next_due
                self._changed.wait(None if due is None else min(self.clock.real_seconds_until(due), 3600))

    def advance(self, seconds):
        with self._changed:
            self._settle()
            self.clock.advance(seconds)
            before = len(self.changes)
            self._settle()
            # The same number must mean the same content, and NotBefore of what still waits has moved.
            untouched = {event.scope.name for event in self._live if event.status == "Scheduled"}
            untouched -= {change["group"] for change in self.changes[before:]}
            for name in untouched:
                self._bump(self.fleet.scopes[name])
            self._changed.notify_all()

    def _settle(self):
        """Applies, in the order of their times, all changes that are due."""
        now = self.clock.now()
        while self._next_due is not None and self._next_due <= now:
            due, event, change = self._next_change()
            if due <= now:
                change(event, max(due, self._settled_to))
                self._settled_to = max(due, self._settled_to)
            self._look_ahead()
        self._settled_to = now

    def _look_ahead(self):
        following = self._next_change()
        self._next_due = following[0] if following else None

    def _next_change(self):
        candidates = [self._next_change_of(event) for event in self._live]
        return min(candidates, key=lambda candidate: candidate[0]) if candidates else None

    def _next_change_of(self, event):
        if event.status == "Planned":
            return event.after, event, self._create
        if event.status == "Started":
            return event.started_at + event.dwell, event, self._finish
        start = self._start_of(event)
        if event.cancel_after is not None and event.created_at + event.cancel_after < start:
            return event.created_at + event.cancel_after, event, self._cancel
        return start, event, self._start_when_due

    def _start_of(self, event):
        deadline = event.start_without_approval()
        if event.approved_at is None:
            return deadline
        start = event.approved_at + event.approval_delay
        if event.type == "Terminate":
            convoy = [
                other.cleared_at()
                for other in event.scope.events
                if other.status == "Scheduled" and other.type == "Terminate"
            ]
            start = max([start] + convoy)
        return min(start, deadline)

    # -- changes of an event

    def _create(self, event, at):
        event.created_at = at
        event.not_before = at + event.notice
        event.status = "Scheduled"
        if event.straight_to_started or self._starts_by_policy(event):
            event.started_at = at
            event.started_by = "direct"
            event.status = "Started"
        self._record(event, "created")
        if event.status == "Started":
            self._record(event, "started", "direct", bump=False)

    def _starts_by_policy(self, event):
        if event.source != "User":
            return False
        group = event.scope.group
        if group is not None and event.type in group.auto_approve:
            return True
        return not event.scope.switched_on and not self.settings["user_events_wait_when_off"]

    def _start_when_due(self, event, at):
        self._start(event, at, "deadline" if at >= event.start_without_approval() else "approval")

    def _start(self, event, at, cause):
        event.status = "Started"
        event.started_at = at
        event.started_by = cause
        self._record(event, "started", cause)

    def _finish(self, event, _at):
        self._end(event, "Finished")

    def _cancel(self, event, _at):
        self._end(event, "Cancelled")

    def _end(self, event, status):
        event.status = status
        self._live.remove(event)
        event.scope.events.remove(event)
        self._record(event, status.lower())

    def _record(self, event, change, cause=None, vm=None, bump=True):
        if bump:
            self._bump(event.scope)
        event.times[change] = time.time()
        self.changes.append(
            {
                "seq": len(self.changes) + 1,
                "time": event.times[change],
                "event": event.id,
                "type": event.type,
                "change": change,
                "cause": cause,
                "vm": vm,
                "group": event.scope.name,
                "resources": event.resources,
                "incarnation": event.scope.incarnation,
            }
        )
        if self._on_change:
            self._on_change(event, change)

    # -- the switch and the counter of a delivery scope

    def _bump(self, scope):
        self._update_switch(scope)
        if scope.revealed or not self.settings["reset_incarnation"]:
            scope.incarnation += 1

    def _update_switch(self, scope):
        """Switches the service off after long silence, and lets the events show some time after it was switched on."""
        now = self.clock.now()
        if not scope.switched_on:
            return
        if now - scope.last_request >= self.settings["off_after_seconds"] > 0:
            scope.switched_on = scope.revealed = False
            if self.settings["reset_incarnation"]:
                scope.incarnation = 1
        elif not scope.revealed and now >= scope.visible_at:
            scope.revealed = True
            # Whoever has seen the empty list under this number must see another number now.
            if scope.visible_at > scope.ready_at and any(event.is_listed() for event in scope.events):
                scope.incarnation += 1

    def _touch(self, scope, switches_on):
        self._update_switch(scope)
        scope.last_request = self.clock.now()
        if switches_on and not scope.switched_on:
            scope.switched_on = True
            scope.ready_at = scope.last_request + self.settings["first_call_seconds"]
            scope.visible_at = scope.ready_at + self.settings["events_after_seconds"]

    # -- what the metadata service asks

    def read(self, vm, version):
        """The document of this VM; the call that switches the service on, and those that come meanwhile, take long."""
        scope = vm.scope
        with self._changed:
            self._settle()
            self._touch(scope, switches_on=True)
            while self.clock.now() < scope.ready_at:
                self._changed.wait(self.clock.real_seconds_until(scope.ready_at))
                self._settle()
            self._update_switch(scope)
            shown = [
                event.document(version, self.clock)
                for event in scope.events
                if scope.revealed and event.is_shown_to(version)
            ]
            return collections.OrderedDict([("DocumentIncarnation", scope.incarnation), ("Events", shown)])

    def approve(self, vm, event_ids):
        """Approves for all VMs that the events name; gives the ids approved for the first time and those not known."""
        with self._changed:
            self._settle()
            self._touch(vm.scope, switches_on=False)
            listed = {event.id.lower(): event for event in vm.scope.events if event.is_listed()}
            unknown = [event_id for event_id in event_ids if event_id.lower() not in listed]
            if unknown and self.settings["unknown_event_status"] >= 300:
                return [], unknown
            fresh = []
            for event_id in event_ids:
                event = listed.get(event_id.lower())
                if event is not None and event.status == "Scheduled" and event.approved_at is None:
                    event.approved_at = self.clock.now()
                    event.approved_by = vm.key
                    self._record(event, "approved", vm=vm.key, bump=False)
                    fresh.append(event.id)
            self._refresh()
            return fresh, unknown

    def _refresh(self):
        self._look_ahead()
        self._settle()
        self._changed.notify_all()

    # -- what the control interface asks

    def add_event(self, spec, what="the event"):
        spec = checked(what, spec, EVENT_RULES)
        if "scenario" in spec:
            spec = dict(SCENARIOS[spec["scenario"]], **spec)
        if "type" not in spec:
            raise InputError('%s: "type" (or "scenario") is missing' % what)
        with self._changed:
            self._settle()
            scope, names = self._scope_and_names(spec, what)
            event = Event(spec, scope, names)
            if event.id.lower() in self.events:
                raise InputError("%s: an event with the id %s exists already" % (what, json.dumps(event.id)))
            event.after += self.clock.now()
            self.events[event.id.lower()] = event
            self._live.append(event)
            scope.events.append(event)
            self._refresh()
            return event.inside_view(self.clock)

    def _scope_and_names(self, spec, what):
        """The delivery scope that an event belongs to, and its resources under the names that Azure would print."""
        wanted = spec.get("resources", [])
        given = self._given_scope(spec.get("group"), what)
        known = [self._vm_called(word, given) for word in wanted]
        if given is None and not wanted:
            raise InputError('%s: name the VMs in "resources", or give a "group"' % what)
        if given is None and None in known:
            raise InputError(
                '%s: no VM of the fleet is called %s; give a "group" to name a VM that nobody plays'
                % (what, json.dumps(wanted[known.index(None)]))
            )
        scopes = {vm.scope.name for vm in known if vm} | ({given.name} if given else set())
        if len(scopes) > 1:
            raise InputError(
                "%s: its VMs belong to different delivery groups (%s), and one event belongs to one"
                % (what, ", ".join(sorted(scopes)))
            )
        return self.fleet.scopes[scopes.pop()], [vm.name if vm else word for vm, word in zip(known, wanted)]

    def _vm_called(self, word, scope):
        in_scope = [vm for vm in scope.vms if word in (vm.key, vm.name)] if scope else []
        return in_scope[0] if in_scope else self.fleet.vms.get(word)

    def _given_scope(self, name, what):
        if name is None:
            return None
        if name in self.fleet.scopes:
            return self.fleet.scopes[name]
        if name in self.fleet.groups:
            # VMs of this group see only their own events: the resources decide.
            return None
        raise InputError(
            "%s: there is no group %s; groups are %s" % (what, json.dumps(name), ", ".join(self.fleet.scopes))
        )

    def change_event(self, event_id, action, seconds=None):
        """Cancels, starts, finishes or reschedules an event by hand."""
        with self._changed:
            self._settle()
            event = self.events.get(event_id.lower())
            if event is None:
                raise LookupError("there is no event %s" % json.dumps(event_id))
            fitting = {
                "cancel": ("Planned", "Scheduled"),
                "start": ("Planned", "Scheduled"),
                "finish": ("Started",),
                "reschedule": ("Scheduled",),
            }[action]
            if event.status not in fitting:
                raise StateError(
                    "event %s is %s; %s needs one that is %s" % (event.id, event.status, action, " or ".join(fitting))
                )
            self._apply(event, action, seconds)
            self._refresh()
            return event.inside_view(self.clock)

    def _apply(self, event, action, seconds):
        now = self.clock.now()
        if action == "start" and event.status == "Planned":
            event.straight_to_started = True
            self._create(event, now)
        elif action == "start":
            self._start(event, now, "direct")
        elif action == "cancel":
            self._cancel(event, now)
        elif action == "finish":
            self._finish(event, now)
        else:
            event.not_before = now + seconds
            self._record(event, "rescheduled")

    def event_views(self):
        with self._changed:
            self._settle()
            return [event.inside_view(self.clock) for event in self.events.values()]

    def change_views(self):
        with self._changed:
            self._settle()
            return list(self.changes)

    def state(self):
        with self._changed:
            self._settle()
            now = self.clock.now()
            for scope in self.fleet.scopes.values():
                self._update_switch(scope)
            return {
                "time": time.time(),
                "simulated_seconds": now,
                "settings": self.settings,
                "vms": [
                    {
                        "key": vm.key,
                        "name": vm.name,
                        "endpoint": vm.url,
                        "address": vm.address,
                        "group": vm.scope.name,
                        "vm_id": vm.compute.get("vmId"),
                    }
                    for vm in self.fleet.vms.values()
                ],
                "groups": [
                    {
                        "name": scope.name,
                        "kind": scope.group.kind if scope.group else "standalone",
                        "vms": [vm.key for vm in scope.vms],
                        "incarnation": scope.incarnation,
                        "service": scope.service_state(now),
                    }
                    for scope in self.fleet.scopes.values()
                ],
            }


class StateError(Exception):
    """The event is in a state that does not allow what was asked."""


# ---------------------------------------------------------------- faults

STATUS_FAULTS = {
    "gone_410": 410,
    "too_many_429": 429,
    "error_500": 500,
    "error_503": 503,
    "timeout_408": 408,
    "status": None,
}
FAULT_KINDS = tuple(STATUS_FAULTS) + (
    "hang",
    "slow",
    "drop",
    "lost_answer",
    "refuse",
    "empty_200",
    "truncated_json",
    "html",
    "redirect",
    "wrong_shape",
    "huge_body",
    "raw",
)
FAULT_RULES = {
    "kind": one_of(*FAULT_KINDS),
    "vm": a_text,
    "path": one_of("scheduledevents", "instance", "versions"),
    "method": one_of("GET", "POST"),
    "count": at_least_one,
    "seconds": a_positive_number,
    "skip": a_count,
    "status": a_status,
    "retry_after": text_or_number,
    "delay": a_duration,
    "location": a_text,
    "bytes": at_least_one,
    "body": anything,
    "headers": text_object,
}
HUGE_BODY_BYTES = 2 * 1024 * 1024
HTML_PAGE = b"<!DOCTYPE html>\n<html><head><title>Gateway</title></head><body><h1>Please sign in</h1></body></html>\n"
DEFAULT_REDIRECT = "http://login.invalid/"


class Fault:
    """One fault on demand: for whom, how often or how long, and what happens."""

    def __init__(self, number, spec):
        self.number = number
        self.spec = spec
        self.kind = spec["kind"]
        self.to_skip = spec.get("skip", 0)
        self.left = spec.get("count")
        self.ends = time.monotonic() + spec["seconds"] if "seconds" in spec else None
        self.cleared = threading.Event()

    def has_time_left(self):
        return not self.cleared.is_set() and (self.ends is None or time.monotonic() < self.ends)

    def is_active(self):
        return self.has_time_left() and self.left != 0

    def is_for(self, vm, method=None, path=None):
        spec = self.spec
        return (
            spec.get("vm") in (None, vm.key)
            and spec.get("method") in (None, method)
            and spec.get("path") in (None, path)
        )

    def takes(self):
        """Counts one fitting request; whether the fault strikes it."""
        if self.to_skip:
            self.to_skip -= 1
            return False
        if self.left is not None:
            self.left -= 1
        return True

    def wait_until_over(self):
        while self.has_time_left():
            self.cleared.wait(None if self.ends is None else max(0.0, self.ends - time.monotonic()))

    def view(self):
        left_seconds = None if self.ends is None else max(0.0, self.ends - time.monotonic())
        return dict(self.spec, id=self.number, active=self.is_active(), left=self.left, left_seconds=left_seconds)


class Faults:
    """The faults that were asked for, oldest first; the first that fits a request strikes it."""

    def __init__(self, vms):
        self._vms = vms
        self._faults = []
        self._numbers = 0
        self._lock = threading.Lock()

    def add(self, spec):
        spec = checked("the fault", dict(spec) if isinstance(spec, dict) else spec, FAULT_RULES, required=["kind"])
        if spec.get("vm") is not None and spec["vm"] not in self._vms:
            raise InputError("the fault: no VM of the fleet is called %s" % json.dumps(spec["vm"]))
        if spec["kind"] == "status" and "status" not in spec:
            raise InputError('the fault: kind "status" needs a "status"')
        if spec["kind"] == "refuse" and set(spec) & {"count", "skip", "path", "method"}:
            raise InputError(
                'the fault: kind "refuse" works for a time, not for single requests; use "vm" and "seconds"'
            )
        with self._lock:
            self._numbers += 1
            fault = Fault(self._numbers, spec)
            self._faults.append(fault)
            return fault.view()

    def clear(self, number=None):
        with self._lock:
            chosen = [fault for fault in self._faults if number in (None, fault.number)]
            if number is not None and not chosen:
                raise LookupError("there is no fault %d" % number)
            for fault in chosen:
                fault.cleared.set()
                self._faults.remove(fault)

    def views(self):
        with self._lock:
            return [fault.view() for fault in self._faults]

    def take(self, vm, method, path):
        with self._lock:
            for fault in self._faults:
                if fault.is_active() and fault.is_for(vm, method, path) and fault.takes():
                    return fault
        return None

    def refused(self):
        """The keys of the VMs whose connections are to be refused now."""
        with self._lock:
            active = [fault for fault in self._faults if fault.kind == "refuse" and fault.is_active()]
        return {vm.key for vm in self._vms.values() if any(fault.is_for(vm) for fault in active)}


def answer_with_fault(fault, process, client_is_there):
    """The response under this fault, or None where the connection is closed without one."""
    kind = fault.kind
    if kind in ("drop", "refuse"):
        return None
    if kind == "lost_answer":
        process()
        return None
    if kind == "hang":
        fault.wait_until_over()
        return process() if client_is_there() else None
    if kind == "slow":
        fault.cleared.wait(fault.spec.get("delay", 5))
        return process() if client_is_there() else None
    if kind == "truncated_json":
        return shortened(process())
    if kind == "huge_body":
        return padded(process(), fault.spec.get("bytes", HUGE_BODY_BYTES))
    return made_up_answer(fault)


def shortened(response):
    return response.with_body(response.body[: max(1, len(response.body) // 2)])


def padded(response, size):
    # Blanks keep the JSON valid, so that only a limit on the size protects a client.
    return response.with_body(response.body + b" " * max(0, size - len(response.body)))


def made_up_answer(fault):
    spec, kind = fault.spec, fault.kind
    headers = dict(spec.get("headers", {}))
    if "retry_after" in spec:
        headers["Retry-After"] = str(spec["retry_after"])
    if kind in STATUS_FAULTS:
        status = STATUS_FAULTS[kind] or spec["status"]
        body = spec.get("body", {"error": http.client.responses.get(status, "Error")})
        return Response(status, as_bytes(body), headers=headers)
    if kind == "empty_200":
        return Response(200, b"", headers=headers)
    if kind == "html":
        return Response(spec.get("status", 200), HTML_PAGE, "text/html; charset=utf-8", headers)
    if kind == "redirect":
        headers["Location"] = spec.get("location", DEFAULT_REDIRECT)
        return Response(spec.get("status", 302), b"", headers=headers)
    if kind == "wrong_shape":
        return Response(200, as_bytes(spec.get("body", {"DocumentIncarnation": 1, "Events": "none"})), headers=headers)
    return Response(spec.get("status", 200), as_bytes(spec.get("body", "")), headers=headers)


def as_bytes(body):
    return body.encode("utf-8") if isinstance(body, str) else compact_json(body)


# ---------------------------------------------------------------- the metadata service

JSON_TYPE = "application/json; charset=utf-8"
TEXT_TYPE = "text/plain; charset=utf-8"


def compact_json(value):
    return json.dumps(value, separators=(",", ":")).encode("utf-8")


class Response:
    def __init__(self, status, body=b"", content_type=JSON_TYPE, headers=None):
        self.status = status
        self.body = body
        self.content_type = content_type
        self.headers = headers or {}

    def with_body(self, body):
        return Response(self.status, body, self.content_type, self.headers)

    def rendered(self, keep_alive):
        headers = collections.OrderedDict()
        headers["Server"] = "metadata-simulator"
        headers["Date"] = email.utils.formatdate(usegmt=True)
        headers["Content-Type"] = self.content_type
        headers["Content-Length"] = str(len(self.body))
        headers["Connection"] = "keep-alive" if keep_alive else "close"
        headers.update(self.headers)
        reason = http.client.responses.get(self.status, "Unknown")
        head = "HTTP/1.1 %d %s\r\n" % (self.status, reason)
        head += "".join("%s: %s\r\n" % pair for pair in headers.items())
        return head.encode("latin-1", "replace") + b"\r\n" + self.body


def json_response(status, value):
    return Response(status, compact_json(value))


class RefusedError(Exception):
    """A request that the service answers with an error of its own."""

    def __init__(self, status, message, **more):
        super().__init__(message)
        self.response = json_response(status, dict([("error", message)], **more))


Request = collections.namedtuple("Request", "method path raw_query headers body")


def query_of(request):
    pairs = urllib.parse.parse_qsl(request.raw_query, keep_blank_values=True)
    names = [name.lower() for name, _dummy in pairs]
    if len(names) != len(set(names)):
        raise RefusedError(400, "Bad request. Duplicate query parameters are not allowed")
    return {name.lower(): value for name, value in pairs}


def demand_version(query, versions):
    version = query.get("api-version")
    if version not in versions:
        raise RefusedError(
            400,
            "Bad request. api-version is invalid or was not specified in the request. "
            "For more information refer to aka.ms/azureimds",
            **{"newest-versions": list(reversed(INSTANCE_VERSIONS[-3:]))},
        )
    return version


def demand_metadata_header(request):
    if request.headers.get("Metadata", "").strip().lower() != "true":
        raise RefusedError(400, "Bad request. Required metadata header not specified")


def demand_method(request, *methods):
    if request.method not in methods:
        raise RefusedError(
            405, 'Http method is not allowed: Path = "%s", Method = "%s"' % (request.path, request.method)
        )


def not_found(request):
    return RefusedError(404, 'API is not found: Path = "%s", Method = "%s"' % (request.path, request.method))


def path_words(path):
    return [urllib.parse.unquote(word) for word in path.split("/") if word]


def area_of(path):
    """Which of the modelled parts of the service a path belongs to: versions, instance, scheduledevents, or None."""
    words = [word.lower() for word in path_words(path)]
    if words in (["metadata", "scheduledevents"], ["metadata", "versions"]) or words[:2] == ["metadata", "instance"]:
        return words[1]
    return None


def start_requests(body):
    """The event ids of an approval."""
    try:
        document = json.loads(body.decode("utf-8"))
        ids = [item["EventId"] for item in document["StartRequests"]]
    except (ValueError, TypeError, KeyError):
        raise RefusedError(400, "Bad request. The payload is malformed") from None
    if not ids or not all(isinstance(event_id, str) and event_id for event_id in ids):
        raise RefusedError(400, "Bad request. The payload is malformed")
    return ids


class RateLimit:
    """So many requests in any one second, counted per VM; those that were turned away do not count."""

    def __init__(self, per_second):
        self.per_second = per_second
        self._recent = {}
        self._lock = threading.Lock()

    def reset(self):
        with self._lock:
            self._recent.clear()

    def is_exceeded_by(self, vm):
        if not self.per_second:
            return False
        now = time.monotonic()
        with self._lock:
            recent = self._recent.setdefault(vm.key, collections.deque())
            while recent and now - recent[0] >= 1.0:
                recent.popleft()
            if len(recent) >= self.per_second:
                return True
            recent.append(now)
            return False


class RequestLog:
    """Every request to a VM, from the moment it came in."""

    def __init__(self, longest=200000):
        self._entries = collections.deque(maxlen=longest)
        self._seq = 0
        self._lock = threading.Lock()

    def begin(self, vm, request):
        with self._lock:
            self._seq += 1
            entry = {
                "seq": self._seq,
                "time": time.time(),
                "vm": vm.key,
                "method": request.method,
                "path": request.path,
                "query": request.raw_query,
                "headers": dict(request.headers.items()),
                "body": request.body.decode("utf-8", "replace"),
                "status": None,
                "fault": None,
                "approved": [],
                "answered": None,
            }
            self._entries.append(entry)
            return entry

    def entries(self):
        with self._lock:
            return [dict(entry) for entry in self._entries]

    def clear(self):
        with self._lock:
            self._entries.clear()


class MetadataService:
    """What a VM hears at its metadata address."""

    def __init__(self, world, faults, log):
        self.world = world
        self.faults = faults
        self.log = log
        self.limit = RateLimit(world.settings["requests_per_second"])

    def answer(self, vm, request, client_is_there):
        """The response, or None where the connection is to be closed without one."""
        entry = self.log.begin(vm, request)
        too_many = self.limit.is_exceeded_by(vm)
        fault = self.faults.take(vm, request.method, area_of(request.path))

        def process():
            if too_many:
                return json_response(429, {"error": "Too many requests"})
            return self._process(vm, request, entry)

        if fault is None:
            response = process()
        else:
            entry["fault"] = fault.kind
            response = answer_with_fault(fault, process, client_is_there)
        entry["status"] = response.status if response else None
        entry["answered"] = time.time() if response else None
        return response

    def _process(self, vm, request, entry):
        try:
            return self._route(vm, request, entry)
        except RefusedError as refusal:
            return refusal.response

    def _route(self, vm, request, entry):
        area = area_of(request.path)
        if area is None:
            raise not_found(request)
        if "X-Forwarded-For" in request.headers:
            raise RefusedError(400, "Bad request. Requests with the header X-Forwarded-For are not allowed")
        query = query_of(request)
        if area != "scheduledevents" or query.get("api-version") != PREVIEW_VERSION:
            demand_metadata_header(request)
        if area == "versions":
            demand_method(request, "GET")
            return json_response(200, {"apiVersions": list(INSTANCE_VERSIONS)})
        if area == "instance":
            demand_method(request, "GET")
            return self._instance(vm, request, query)
        demand_method(request, "GET", "POST")
        version = demand_version(query, EVENT_VERSIONS)
        if request.method == "GET":
            return json_response(200, self.world.read(vm, version))
        return self._approve(vm, request, entry)

    def _approve(self, vm, request, entry):
        approved, unknown = self.world.approve(vm, start_requests(request.body))
        entry["approved"] = approved
        return Response(self.world.settings["unknown_event_status"] if unknown else 200)

    def _instance(self, vm, request, query):
        version = demand_version(query, INSTANCE_VERSIONS)
        wanted = query.get("format", "json").lower()
        if wanted not in ("json", "text"):
            raise RefusedError(400, "Bad request. The format must be json or text")
        value = vm.instance_document(version)
        for word in path_words(request.path)[2:]:
            value = child_of(value, word, request)
        if wanted == "text":
            return Response(200, as_text(value).encode("utf-8"), TEXT_TYPE)
        if not isinstance(value, (dict, list)):
            raise RefusedError(400, "Bad request. format=text is required for a leaf element")
        return json_response(200, value)


def child_of(value, word, request):
    if isinstance(value, list) and word.isdigit() and int(word) < len(value):
        return value[int(word)]
    if isinstance(value, dict):
        for name in value:
            if name.lower() == word.lower():
                return value[name]
    raise not_found(request)


def as_text(value):
    """A leaf as it is, anything else as the list of what is below it."""
    if isinstance(value, dict):
        return "\n".join(name + ("/" if isinstance(below, (dict, list)) else "") for name, below in value.items())
    if isinstance(value, list):
        return "\n".join("%d/" % number for number in range(len(value)))
    return str(value)


# ---------------------------------------------------------------- the control interface


class Control:
    """The HTTP interface of whoever rehearses: JSON in, JSON out."""

    def __init__(self, service, listeners_changed):
        world, faults, log = service.world, service.faults, service.log
        self.service = service
        self.world = world
        self.faults = faults
        self.log = log
        self._listeners_changed = listeners_changed
        self._routes = [
            ("GET", r"^/$", self._index),
            ("GET", r"^/state$", lambda given: world.state()),
            ("GET", r"^/events$", lambda given: world.event_views()),
            ("POST", r"^/events$", world.add_event),
            (
                "POST",
                r"^/events/([^/]+)/(cancel|start|finish)$",
                lambda given, event, action: world.change_event(event, action),
            ),
            ("POST", r"^/events/([^/]+)/reschedule$", self._reschedule),
            ("GET", r"^/changes$", lambda given: world.change_views()),
            ("GET", r"^/faults$", lambda given: faults.views()),
            ("POST", r"^/faults$", self._add_fault),
            ("DELETE", r"^/faults$", self._clear_faults),
            ("DELETE", r"^/faults/(\d+)$", self._clear_faults),
            ("GET", r"^/log$", lambda given: log.entries()),
            ("DELETE", r"^/log$", self._clear_log),
            ("GET", r"^/clock$", lambda given: self._clock()),
            ("POST", r"^/clock$", self._advance),
            ("POST", r"^/reset$", self._reset),
        ]

    def answer(self, request):
        try:
            return self._dispatch(request)
        except InputError as problem:
            return json_response(400, {"error": str(problem)})
        except LookupError as problem:
            return json_response(404, {"error": str(problem.args[0])})
        except StateError as problem:
            return json_response(409, {"error": str(problem)})

    def _dispatch(self, request):
        path = urllib.parse.unquote(request.path)
        path_is_known = False
        for method, pattern, action in self._routes:
            match = re.match(pattern, path)
            path_is_known = path_is_known or bool(match)
            if match and method == request.method:
                given = self._given(request) if method == "POST" else None
                return json_response(200, action(given, *match.groups()))
        if path_is_known:
            return json_response(405, {"error": "%s is not possible on %s" % (request.method, path)})
        return json_response(404, {"error": "there is no %s; see GET / for what there is" % path})

    @staticmethod
    def _given(request):
        if not request.body.strip():
            return {}
        try:
            return json.loads(request.body.decode("utf-8"))
        except ValueError as problem:
            raise InputError("the body is not JSON: %s" % problem) from None

    def _index(self, _dummy):
        return {"endpoints": ["%s %s" % (method, pattern.strip("^$")) for method, pattern, _dummy in self._routes]}

    def _reschedule(self, given, event_id):
        given = checked("the body", given, {"notice": a_duration}, required=["notice"])
        return self.world.change_event(event_id, "reschedule", given["notice"])

    def _add_fault(self, given):
        view = self.faults.add(given)
        self._listeners_changed()
        return view

    def _clear_faults(self, _dummy, number=None):
        self.faults.clear(None if number is None else int(number))
        self._listeners_changed()
        return {}

    def _clear_log(self, _dummy):
        self.log.clear()
        return {}

    def _reset(self, _dummy):
        self._clear_faults(None)
        self.world.reset()
        self.log.clear()
        self.service.limit.reset()
        return {}

    def _clock(self):
        clock = self.world.clock
        return {"simulated_seconds": clock.now(), "speed": clock.speed, "time": time.time()}

    def _advance(self, given):
        given = checked("the body", given, {"advance": a_duration}, required=["advance"])
        self.world.advance(given["advance"])
        return self._clock()


# ---------------------------------------------------------------- the network

LONGEST_REQUEST_BODY = 1024 * 1024
IDLE_CONNECTION_SECONDS = 120


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection, served by a thread of its own; `self.server` is the function that answers a request."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_CONNECTION_SECONDS

    def handle_one_request(self):
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or len(self.raw_requestline) > 65536 or not self.parse_request():
            return
        response = self._response()
        if response is None:
            self.close_connection = True
        else:
            body_free = self.command == "HEAD"
            rendered = response.rendered(keep_alive=not self.close_connection)
            self.wfile.write(rendered[: len(rendered) - len(response.body)] if body_free else rendered)

    def _response(self):
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not length.isdigit() or int(length) > LONGEST_REQUEST_BODY:
            self.close_connection = True
            return json_response(400, {"error": "Bad request. The length of the payload is missing or not allowed"})
        body = self.rfile.read(int(length))
        path, _dummy, raw_query = self.path.partition("?")
        return self.server(Request(self.command, path, raw_query, self.headers, body), self._client_is_there)

    def _client_is_there(self):
        try:
            self.connection.settimeout(0)
            return self.connection.recv(1, socket.MSG_PEEK) != b""
        except (BlockingIOError, InterruptedError):
            return True
        except OSError:
            return False
        finally:
            self.connection.settimeout(IDLE_CONNECTION_SECONDS)

    def handle(self):
        with contextlib.suppress(OSError):  # the client has gone, or has said nothing for long
            super().handle()

    def finish(self):
        with contextlib.suppress(OSError):
            super().finish()

    def log_message(self, *args):
        """Says nothing: the control interface has the log."""


CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def network_of(namespace):
    """Sockets that this thread opens in the block belong to the network namespace at that path, for ever."""
    if namespace is None:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(place):
        if libc.setns(place, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    with open("/proc/thread-self/ns/net") as own, open(namespace) as other:
        enter(other.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


def listening_socket(address, port, what, namespace=None):
    try:
        with network_of(namespace):
            listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, AttributeError) as problem:  # no setns but on Linux
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("cannot listen in the network namespace %s for %s: %s" % (namespace, what, reason)) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
        listener.setblocking(False)
    except (OSError, OverflowError) as problem:
        listener.close()
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("cannot listen on %s port %d for %s: %s" % (address, port, what, reason)) from None
    return listener


def url_of(listener):
    address, port = listener.getsockname()[:2]
    return "http://%s:%d" % ("[%s]" % address if ":" in address else address, port)


class Network:
    """One loop accepts on all listening sockets; each connection gets a thread."""

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._listeners = {}
        self._places = {}
        self._refused = set()
        self._synced = threading.Condition()
        self._sync_count = 0
        self._stopping = False

    def listen(self, key, address, port, what, server, namespace=None):
        """Opens a listening socket; gives its URL."""
        listener = listening_socket(address, port, what, namespace)
        address, port = listener.getsockname()[:2]
        self._places[key] = ((address, port, what, namespace), server)
        self._open(key, listener)
        return url_of(listener)

    def _open(self, key, listener):
        self._listeners[key] = listener
        self._selector.register(listener, selectors.EVENT_READ, self._places[key][1])

    def _close(self, key):
        listener = self._listeners.pop(key)
        self._selector.unregister(listener)
        listener.close()

    def stop(self, *_dummy):
        self._stopping = True
        self._wake()

    def _wake(self):
        with contextlib.suppress(OSError):  # a full pipe wakes the loop as well
            self._wake_writer.send(b"x")

    def sync(self):
        """Called by other threads: comes back when the listeners follow the faults as they are now."""
        with self._synced:
            wanted = self._sync_count + 2  # the round that is under way may have looked too early
            while self._sync_count < wanted and not self._stopping:
                self._wake()
                self._synced.wait(0.02)

    def run(self, refused):
        """Accepts until stop() is called. `refused` gives the keys whose connections are to be refused now."""
        while not self._stopping:
            self._follow(refused())
            with self._synced:
                self._sync_count += 1
                self._synced.notify_all()
            for key, _dummy in self._selector.select(0.05 if self._refused else None):
                if key.fileobj is self._wake_reader:
                    self._drain_wakes()
                else:
                    self._accept(key.fileobj, key.data)
        for key in list(self._listeners):
            self._close(key)

    def _drain_wakes(self):
        with contextlib.suppress(BlockingIOError):
            while self._wake_reader.recv(4096):
                pass

    def _follow(self, refused):
        for key in refused - self._refused:
            self._close(key)
        still_closed = set()
        for key in self._refused - refused:
            place, _dummy = self._places[key]
            try:
                self._open(key, listening_socket(*place))
            except InputError as problem:
                print("metadata_simulator: %s" % problem, file=sys.stderr, flush=True)
                still_closed.add(key)
        self._refused = refused | still_closed

    def _accept(self, listener, server):
        try:
            connection, peer = listener.accept()
        except OSError as problem:
            if problem.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)  # no room for another connection now: do not spin
            return
        threading.Thread(target=serve, args=(connection, peer, server), daemon=True).start()


def serve(connection, peer, server):
    with contextlib.suppress(OSError), connection:
        connection.setblocking(True)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(connection, peer, server)


# ---------------------------------------------------------------- the command line

EXAMPLE_FLEET = """{
  "groups": {
    "web": {"kind": "availability_set", "resource_group": "rg-web"},
    "pool": {"kind": "scale_set"}
  },
  "vms": [
    {"name": "web-0", "group": "web", "update_domain": "0"},
    {"name": "web-1", "group": "web", "update_domain": "1"},
    {"name": "pool_0", "group": "pool"},
    {"name": "db-0", "zone": "1", "address": "127.0.10.1"}
  ],
  "events": [
    {"scenario": "live_migration", "resources": ["web-0"]},
    {"type": "Reboot", "resources": ["db-0"], "notice": 600, "after": 60}
  ],
  "settings": {"speed": 60}
}
"""

EPILOG = """Prints one line "vm NAME URL" for each VM, then "control URL", then "ready". Stops on SIGTERM or Ctrl-C.
Durations (notice, Started dwell, the slow first call, 24 hours of silence) are divided by the speed.
The commands of --on-start and --on-finish get SIM_EVENT_ID, SIM_EVENT_TYPE, SIM_EVENT_CHANGE, SIM_RESOURCES (names with
commas), SIM_GROUP and SIM_DURATION in their environment."""


def command_line():
    parser = argparse.ArgumentParser(
        prog="metadata_simulator.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
        description="Plays Azure's metadata service, Scheduled Events included, for a fleet of VMs.",
    )
    parser.add_argument("--fleet", metavar="FILE", help="the fleet, a JSON file; - reads standard input")
    parser.add_argument("--example", action="store_true", help="print a fleet file to start from, and end")
    parser.add_argument("--check", action="store_true", help="check the fleet file and the options, and end")
    parser.add_argument(
        "--port",
        type=int,
        default=80,
        metavar="N",
        help="port of every VM that has none of its own; 0 takes a free one for each (default: 80)",
    )
    parser.add_argument(
        "--control",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where the control interface listens (default: 127.0.0.1:0, a free port)",
    )
    parser.add_argument("--speed", type=float, metavar="F", help="how many times as fast durations pass (default: 1)")
    parser.add_argument(
        "--first-call-seconds",
        type=float,
        metavar="S",
        help="how long the call takes that switches the service on; up to 120 in Azure (default: 0)",
    )
    parser.add_argument(
        "--events-after-seconds",
        type=float,
        metavar="S",
        help="how long after it events begin to show; up to 300 in Azure (default: 0)",
    )
    parser.add_argument(
        "--off-after-seconds",
        type=float,
        metavar="S",
        help="silence after which the service switches itself off (default: 86400; 0: never)",
    )
    parser.add_argument(
        "--requests-per-second",
        type=int,
        metavar="N",
        help="requests a second that a VM may send before 429 (default: 5; 0: no limit)",
    )
    parser.add_argument(
        "--unknown-event-status",
        type=int,
        metavar="CODE",
        help="answer to the approval of an event that is not listed (default: 200)",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="stop when standard input is closed, so that no simulator outlives the test that began it",
    )
    parser.add_argument("--on-start", metavar="COMMAND", help="shell command to run when an event is Started")
    parser.add_argument("--on-finish", metavar="COMMAND", help="shell command to run when an event has finished")
    return parser


def read_fleet(path):
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as source:
                text = source.read()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError("cannot read the fleet file %s: %s" % (path, reason)) from None
    try:
        return json.loads(text)
    except ValueError as problem:
        raise InputError("the fleet file %s is not JSON: %s" % (path, problem)) from None


def host_and_port(text):
    host, _dummy, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InputError("--control must be HOST:PORT, not %s" % json.dumps(text))
    return "127.0.0.1" if host == "localhost" else host, int(port)


def settings_of(options):
    given = {
        name: getattr(options, name)
        for name in (
            "speed",
            "first_call_seconds",
            "events_after_seconds",
            "off_after_seconds",
            "requests_per_second",
            "unknown_event_status",
        )
    }
    return checked("the command line", given, SETTING_RULES)


def hook_runner(commands):
    """A function that runs the user's command for a change of an event, without waiting for it."""

    def run(event, change):
        command = commands.get(change)
        if command:
            about = dict(
                os.environ,
                SIM_EVENT_ID=event.id,
                SIM_EVENT_TYPE=event.type,
                SIM_EVENT_CHANGE=change,
                SIM_RESOURCES=",".join(event.resources),
                SIM_GROUP=event.scope.name,
                SIM_DURATION=str(event.duration),
            )
            settings = {"shell": True, "env": about, "stdin": subprocess.DEVNULL, "stdout": sys.stderr.fileno()}
            threading.Thread(target=subprocess.call, args=(command,), kwargs=settings, daemon=True).start()

    return run


def allow_many_open_files():
    """A fleet of a thousand VMs needs more sockets than the usual soft limit allows."""
    if resource is not None:
        _dummy, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_listeners(network, fleet, service, options):
    for vm in fleet.vms.values():

        def answer(request, client_is_there, vm=vm):
            return service.answer(vm, request, client_is_there)

        port = options.port if vm.port is None else vm.port
        vm.url = network.listen(vm.key, vm.address, port, "VM " + vm.key, answer, vm.network_namespace)


def stop_at_end_of_input(network):
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    network.stop()


def simulate(options):
    control_place = host_and_port(options.control)
    if a_port(options.port):
        raise InputError("--port must be " + a_port(options.port))
    fleet = Fleet(read_fleet(options.fleet))
    fleet.settings.update(settings_of(options))
    if options.check:
        World(fleet, Clock(fleet.settings["speed"]))
        return
    allow_many_open_files()
    network = Network()
    signal.signal(signal.SIGTERM, network.stop)
    signal.signal(signal.SIGINT, network.stop)
    hooks = hook_runner({"started": options.on_start, "finished": options.on_finish})
    world = World(fleet, Clock(fleet.settings["speed"]), hooks)
    faults = Faults(fleet.vms)
    service = MetadataService(world, faults, RequestLog())
    open_listeners(network, fleet, service, options)
    control = Control(service, network.sync)
    control_url = network.listen(
        None,
        control_place[0],
        control_place[1],
        "the control interface",
        lambda request, _dummy: control.answer(request),
    )
    threading.Thread(target=world.run_clock, daemon=True).start()
    if options.stop_with_stdin:
        threading.Thread(target=stop_at_end_of_input, args=(network,), daemon=True).start()
    for vm in fleet.vms.values():
        print("vm %s %s" % (vm.key, vm.url))
    print("control %s" % control_url)
    print("ready", flush=True)
    network.run(faults.refused)


def main(arguments=None):
    parser = command_line()
    options = parser.parse_args(arguments)
    if options.example:
        sys.stdout.write(EXAMPLE_FLEET)
        return 0
    if not options.fleet:
        parser.error("--fleet is required (--example prints a fleet file to start from)")
    try:
        simulate(options)
    except InputError as problem:
        print("metadata_simulator: %s" % problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
