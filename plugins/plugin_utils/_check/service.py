# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings about the metadata service."""

from __future__ import annotations

import dataclasses
import statistics
import typing as t
from collections.abc import Mapping

from ...module_utils._azure import documents, imds
from .._azure import events as azure
from .._azure import vms
from .._common import text
from .._plan import waves
from . import report
from .report import Finding

NEWEST = imds.API_VERSIONS[-1]
PREVIEW = imds.API_VERSIONS[0]
# The first that asks for the header. Clouds that lack newer ones have it.
FIRST_GENERAL = imds.API_VERSIONS[1]
INSTANCE_VERSION = "2019-06-01"
# Where a field of the compute part was added, so that the answer before and from there on can be compared.
COMPUTE_VERSIONS = (
    "2017-04-02",
    "2017-08-01",
    "2017-12-01",
    "2018-10-01",
    "2019-03-11",
    "2019-06-04",
    "2020-06-01",
    "2020-07-15",
    "2020-12-01",
    "2021-03-01",
    "2021-10-01",
    "2021-11-15",
    "2023-11-15",
)
_METADATA = {"Metadata": "true"}
_FORWARDED = {**_METADATA, "X-Forwarded-For": "10.0.0.1"}


@dataclasses.dataclass(frozen=True)
class Question:
    name: str
    target: str
    headers: Mapping[str, str] = dataclasses.field(default_factory=lambda: dict(_METADATA))

    def as_data(self) -> dict[str, t.Any]:
        return {"name": self.name, "target": self.target, "headers": dict(self.headers)}


@dataclasses.dataclass(frozen=True)
class Heard:
    """One answer. `status` is None where none came; then `problem` says why."""

    status: int | None = None
    body: str = ""
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    problem: str = ""
    # By the clock of the host.
    at: float = 0.0
    seconds: float = 0.0

    @property
    def data(self) -> t.Any:
        try:
            return documents.json_of(self.body)
        except ValueError:
            return None

    @property
    def words(self) -> str:
        return self.problem or f"HTTP {self.status}"


NOT_HEARD = Heard(problem="not asked")


class Answers:
    """By the name of the question."""

    def __init__(self, heard: Mapping[str, Mapping[str, t.Any]]) -> None:
        self.heard = {name: Heard(**told) for name, told in heard.items()}

    def __getitem__(self, name: str) -> Heard:
        return self.heard.get(name, NOT_HEARD)

    def document(self, name: str) -> dict[str, t.Any] | None:
        """What a good answer holds, where it is an object."""
        heard = self[name]
        data = heard.data if heard.status == 200 else None
        return data if isinstance(data, dict) else None


def events(version: str) -> str:
    return f"events {version}"


def compute(version: str) -> str:
    return f"compute {version}"


def _events_target(version: str) -> str:
    return f"{imds.EVENTS_PATH}?api-version={version}"


def service_questions() -> list[Question]:
    """Whether it is the service, and which api-versions it has. The newest first."""
    return [
        *(Question(events(version), _events_target(version)) for version in reversed(imds.API_VERSIONS)),
        Question("no header", _events_target(FIRST_GENERAL), {}),
        Question("forwarded", _events_target(FIRST_GENERAL), _FORWARDED),
        Question("elsewhere", "/metadata/there-is-no-such-thing"),
    ]


def fact_questions() -> list[Question]:
    """What else the facts need. First the newest document again: what is in both was there in between."""
    instance = "/metadata/instance"
    leaf = f"{instance}/compute/name?api-version={INSTANCE_VERSION}"
    return [
        Question("again", _events_target(NEWEST)),
        Question("no header, preview", _events_target(PREVIEW), {}),
        Question("no version", imds.EVENTS_PATH),
        Question("latest", _events_target("latest")),
        Question("unknown version", _events_target("2099-01-01")),
        Question("twice", f"{_events_target(FIRST_GENERAL)}&api-version={FIRST_GENERAL}"),
        Question("versions", "/metadata/versions"),
        Question("instance, version of events", f"{instance}?api-version={NEWEST}"),
        Question("instance, no version", instance),
        Question("instance, no header", f"{instance}?api-version={INSTANCE_VERSION}", {}),
        Question("instance, forwarded", f"{instance}?api-version={INSTANCE_VERSION}", _FORWARDED),
        Question("leaf", leaf),
        Question("leaf as text", f"{leaf}&format=text"),
        Question("no element", f"{instance}/compute/nothing?api-version={INSTANCE_VERSION}&format=text"),
        *(
            Question(compute(version), f"{instance}/compute?api-version={version}&format=json")
            for version in COMPUTE_VERSIONS
        ),
    ]


# Longer than that, and it was being switched on, or something is wrong with it.
SLOW_READING = 5.0
# As the run has it: a host whose clock differs by more is told.
MOST_SECONDS_APART = 10.0
NOT_ASKED = (
    "not asked, as the first request switches Scheduled Events on for all VMs of a group: from then on a restart in the"
    " portal waits for an approval or for up to 15 minutes"
)
ASK_IT = "Run it again with -e check_service=true, if that may be"


def not_asked() -> Finding:
    return report.doubtful("service", "it answers", NOT_ASKED, ASK_IT)


def about_failure(why: str) -> Finding:
    return report.bad("service", "it answers", why, "docs/troubleshooting.md tells what this sentence means")


def about_answer(seconds: float, answers: Answers) -> Finding:
    each = [heard.seconds for heard in answers.heard.values() if heard.status is not None]
    usual = f", each request after it {statistics.median(each):.2f} s" if each else ""
    seen = f"the first reading took {seconds:.1f} s{usual}"
    if seconds > SLOW_READING:
        do = "It was being switched on, which takes up to two minutes: check again, it must be quick now"
        return report.doubtful("service", "it answers", seen, do)
    return report.good("service", "it answers", seen)


def about_versions(answers: Answers, wanted: str) -> Finding:
    point = "api-versions"
    there = [version for version in imds.API_VERSIONS if answers.document(events(version)) is not None]
    if not there:
        return report.bad("service", point, "none is answered", "Look at what answers at this endpoint")
    if len(there) == len(imds.API_VERSIONS):
        return report.good("service", point, f"all {len(there)}")
    missing = [version for version in imds.API_VERSIONS if version not in there]
    seen = f"{text.in_words(there)} are answered, {text.in_words(missing)} not"
    if wanted not in (*there, imds.AUTO):
        return report.bad("service", point, seen, "Set maintenance_api_version: auto")
    hidden = azure.warning_about_version(there[-1]) if wanted == imds.AUTO else azure.warning_about_version(wanted)
    if hidden:
        return report.doubtful("service", point, f"{seen}. {hidden}", "Such events come without notice here")
    return report.good("service", point, seen)


def about_being_real(answers: Answers) -> Finding:
    point = "it is the service itself"
    wanted = (
        ("no header", 400, "a request without the header Metadata: true"),
        ("forwarded", 400, "a request with X-Forwarded-For"),
        ("elsewhere", 404, "a path that it does not have"),
    )
    odd = [f"{answers[name].words} to {what}" for name, status, what in wanted if answers[name].status != status]
    if not odd:
        return report.good("service", point, "it refuses what Azure refuses")
    do = "A proxy or a stand-in answers at this address: what is approved there never gets to Azure"
    return report.bad("service", point, text.in_words(odd), do)


def about_name(host: str, variables: Mapping[str, t.Any], this_host: Mapping[str, t.Any] | None) -> Finding:
    point = "the VM's name"
    told = (this_host or {}).get("vm_name")
    if not told:
        do = "Set maintenance_vm_name to the name that events use for this VM"
        return report.bad("service", point, "the service does not tell it", do)
    for claim in vms.false_claims({host: this_host or {}}, {host: variables}, {}):
        if claim.kind == "contradicted":
            do = "Correct the inventory, or ansible_host: this is another VM, and nothing is drained or approved for it"
            return report.bad("service", point, f"{told}, and the inventory declares {claim.instead}", do)
        do = f"If it is, set maintenance_vm_name: {told}. Until then nothing is drained or approved for it"
        return report.bad("service", point, f"{told}, which the inventory does not confirm", do)
    return report.good("service", point, str(told))


def about_place(variables: Mapping[str, t.Any], this_host: Mapping[str, t.Any] | None) -> list[Finding]:
    """Resource group and domain, as the VM tells them, against what the inventory says."""
    place = this_host or {}
    group = place.get("resource_group")
    seen = f"{group} in {place.get('location') or 'no location'}"
    found = []
    if not group:
        found.append(
            report.doubtful("service", "resource group", "the service does not tell it", "Look at the VM in the portal")
        )
    elif not vms.same_scope(vms.scope_of(place), vms.inventory_scope(variables)):
        do = "Correct resource_group and subscription_id of the inventory, or ansible_host: this is another VM"
        found.append(report.bad("service", "resource group", f"{seen}, and the inventory has another one", do))
    else:
        found.append(report.good("service", "resource group", seen))
    domain = waves.domain_of(variables, place)
    zone = f", zone {place['zone']}" if place.get("zone") else ""
    scale_set = f", scale set {place['scale_set']}" if place.get("scale_set") else ""
    if domain is None:
        do = "It goes down alone: set maintenance_domain if others may go with it"
        found.append(report.doubtful("service", "domain", f"none{scale_set}", do))
    else:
        found.append(
            report.good("service", "domain", f"{domain}{zone if not domain.startswith('zone') else ''}{scale_set}")
        )
    return found


class Offset(t.NamedTuple):
    """How far a clock is ahead, at least and at most, as asking takes time."""

    least: float
    most: float

    @property
    def certain(self) -> float:
        """What is certain of it: 0 where it may be right."""
        if self.least > 0:
            return self.least
        return self.most if self.most < 0 else 0.0


def offset_of_host(now: float, asked: float, answered: float) -> Offset:
    """`now` by the clock of the host, the others by that of the controller."""
    return Offset(now - answered, now - asked)


def offset_of_service(answers: Answers, host: Offset) -> Offset | None:
    """Against the controller. None where the service does not tell its time; it tells whole seconds."""
    for heard in answers.heard.values():
        told = text.seconds_of(heard.headers.get("date"))
        if heard.status is not None and told is not None:
            return Offset(told - heard.at + host.least, told + 1 + heard.seconds - heard.at + host.most)
    return None


def about_clock_of_host(offset: Offset) -> Finding:
    return _about_clock("the clock of the host", offset, "doubtful")


def about_clock_of_service(offset: Offset | None) -> Finding:
    point = "the clock of the service"
    if offset is None:
        return report.good("service", point, "it does not tell its time")
    # Deadlines come from the service, and are counted by the controller.
    return _about_clock(point, offset, "bad")


def _about_clock(point: str, offset: Offset, verdict: str) -> Finding:
    apart = offset.certain
    if abs(apart) <= MOST_SECONDS_APART:
        return report.good("service", point, "as that of the controller" if not apart else _apart(apart))
    do = "Have both set by NTP (chrony, systemd-timesyncd): times of events are counted by the clock of the controller"
    return Finding("service", point, verdict, _apart(apart), do)


def _apart(seconds: float) -> str:
    return f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} that of the controller"
