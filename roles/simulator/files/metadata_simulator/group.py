# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of VMs."""

from .input_checks import a_boolean, a_text, any_text, at_least_one, one_of, text_or_number, texts

UNIFORM, FLEXIBLE = "scale_set", "flexible_scale_set"
GROUP_KINDS = ("availability_set", UNIFORM, FLEXIBLE, "cloud_service", "standalone")
# Azure spreads a Flexible scale set over as many as it can, and shows one.
FAULT_DOMAINS = {"availability_set": 2, FLEXIBLE: 1}
GROUP_RULES = {
    "kind": one_of(*GROUP_KINDS),
    "name": a_text,
    "placement_group_id": any_text,
    "own_events_only": a_boolean,
    "auto_approve": texts,
    "resource_group": a_text,
    "subscription_id": a_text,
    "location": a_text,
    "update_domain": text_or_number,
    "fault_domains": at_least_one,
}
# Keys that hold for each VM of the group that has none of its own.
OF_EACH_VM = ("resource_group", "subscription_id", "location", "update_domain")


class Group:
    """An availability set, the placement group of a scale set, a cloud service, or a family of lone VMs."""

    def __init__(self, key, spec):
        self.key = key
        self.kind = spec.get("kind", "availability_set")
        self.name = spec.get("name", key)
        self.defaults = {word: spec[word] for word in OF_EACH_VM if word in spec}
        self.fault_domains = spec.get("fault_domains", FAULT_DOMAINS.get(self.kind, 5))
        self.auto_approve = tuple(spec.get("auto_approve", ()))
        self.shares_events = self.kind != "standalone" and not spec.get("own_events_only", False)
        self.placement_group_id = spec.get("placement_group_id")
        self.size = 0
