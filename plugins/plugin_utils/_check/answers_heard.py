# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the metadata service is asked by the playbook check, and what came. Pure."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping

from ansible_collections.maintenance.azure.plugins.module_utils._azure.documents import json_of
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS, EVENTS_PATH

NEWEST = API_VERSIONS[-1]
PREVIEW = API_VERSIONS[0]
# The first that asks for the header. Clouds that lack newer ones have it.
FIRST_GENERAL = API_VERSIONS[1]
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
            return json_of(self.body)
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
    return f"{EVENTS_PATH}?api-version={version}"


def service_questions() -> list[Question]:
    """Whether it is the service, and which api-versions it has. The newest first."""
    return [
        *(Question(events(version), _events_target(version)) for version in reversed(API_VERSIONS)),
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
        Question("no version", EVENTS_PATH),
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
