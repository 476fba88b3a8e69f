# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One VM of the fleet: who it is, as /metadata/instance tells it."""

import json
import re
import uuid

from .azure_facts import COMPUTE_FIELD_SINCE, EMPTY_COMPUTE_FIELDS, PREVIEW_VERSION
from .group import FLEXIBLE, UNIFORM
from .input_checks import InputError, a_port, a_text, an_object, one_of, text_object, text_or_number

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
        if self._kind() == UNIFORM and self._uniform_instance_id() is None:
            raise InputError(
                'VM %s: a VM of the scale set %s is called %s_NUMBER; other names are for the kind "flexible_scale_set"'
                % (json.dumps(self.key), json.dumps(group.name), group.name)
            )
        self.compute = merged(merged(EMPTY_COMPUTE_FIELDS, self._known_compute()), spec.get("compute", {}))

    def _kind(self):
        return self.group.kind if self.group else "standalone"

    def _known_compute(self):
        spec = self.spec
        resource_group = spec.get("resource_group", "rg-%s" % (self.group.key if self.group else "simulated"))
        subscription = spec.get("subscription_id", stable_guid("subscription"))
        provider = "/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute" % (subscription, resource_group)
        in_scale_set = self._kind() in (UNIFORM, FLEXIBLE)
        tags = spec.get("tags", {})
        return {
            "azEnvironment": "AzurePublicCloud",
            "evictionPolicy": "Deallocate" if spec.get("priority") == "Spot" else "",
            "location": spec.get("location", "westeurope"),
            "name": self.name,
            "offer": "debian-12",
            "osProfile": {
                "adminUsername": "azureuser",
                "computerName": spec.get("computer_name", self._default_computer_name()),
                "disablePasswordAuthentication": "true",
            },
            "osType": "Linux",
            "placementGroupId": self._placement_group_id() if in_scale_set else "",
            "platformFaultDomain": self._domain("fault_domain", self.group.fault_domains if self.group else 1),
            "platformUpdateDomain": self._domain("update_domain", 1 if self._kind() == FLEXIBLE else 5),
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
                "id": provider + "/virtualMachineScaleSets/" + self.group.name if self._kind() == FLEXIBLE else ""
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
        usual = "" if self._kind() == FLEXIBLE else stable_guid("placement group", self.group.key)
        given = self.group.placement_group_id
        return usual if given is None else given

    def _uniform_instance_id(self):
        """The number in `{scale set}_{number}`."""
        match = re.match(r"%s_([0-9]+)\Z" % re.escape(self.group.name), self.name) if self._kind() == UNIFORM else None
        return match.group(1) if match else None

    def _resource_path(self):
        instance = self._uniform_instance_id()
        if instance is None:
            return "/virtualMachines/" + self.name
        return "/virtualMachineScaleSets/%s/virtualMachines/%s" % (self.group.name, instance)

    def _default_computer_name(self):
        """As in Azure: a scale set gives its VMs another hostname, with the instance id in base 36 where it has one."""
        if self._kind() == UNIFORM:
            return self.group.name + base36(int(self._uniform_instance_id())).rjust(6, "0")
        return self.group.name + stable_guid("computer", self.key)[:6] if self._kind() == FLEXIBLE else self.name

    def maintenance_domain(self, reboots):
        """Return what Azure maintains at once: VMs with another value are spared meanwhile."""
        if self._kind() == "standalone" or (self._kind() == FLEXIBLE and self.group.fault_domains == 1):
            # The fault domains of a Flexible scale set are there; they are not shown.
            return self.key
        by_update_domain = reboots and self._kind() != FLEXIBLE
        domain = self.compute["platformUpdateDomain" if by_update_domain else "platformFaultDomain"]
        return json.dumps([self.compute["zone"], domain])

    def inside_view(self, impact):
        """The VM as the control interface shows it."""
        return {
            "key": self.key,
            "name": self.name,
            "endpoint": self.url,
            "address": self.address,
            "group": self.scope.name,
            "vm_id": self.compute.get("vmId"),
            "impact": impact,
        }

    def instance_document(self, version):
        return {"compute": shown_fields(self.compute, version), "network": self._network()}

    def _network(self):
        mac = "000D3A%06X" % (self.index + 1)
        ipv4 = {
            "ipAddress": [{"privateIpAddress": self.address, "publicIpAddress": ""}],
            "subnet": [{"address": "10.0.0.0", "prefix": "16"}],
        }
        return {"interface": [{"ipv4": ipv4, "ipv6": {"ipAddress": []}, "macAddress": mac}]}


def stable_guid(*words):
    """The same words give the same GUID in every run, so that a rehearsal can be repeated."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "maintenance.azure/simulator/" + "/".join(words)))


def base36(number):
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text


def shown_fields(branch, version, path=""):
    """What this api-version shows of the compute metadata, or of a branch of it."""
    return {
        name: shown_fields(value, version, path + name + ".") if isinstance(value, dict) else value
        for name, value in sorted(branch.items())
        if version >= COMPUTE_FIELD_SINCE.get(path + name, PREVIEW_VERSION)
    }


def merged(base, override):
    """`override` laid over `base`, object by object."""
    result = dict(base)
    for key, value in override.items():
        both_objects = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both_objects else value
    return result
