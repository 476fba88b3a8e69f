# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts about the instance metadata, which tells who a VM is. Pure."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.answers_heard import (
    COMPUTE_VERSIONS,
    NEWEST,
    Answers,
    compute,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts_table import Fact, Seen, no, not_seen, yes

# By their documentation.
_DOCUMENTED = """
2017-03-01 2017-04-02 2017-08-01 2017-10-01 2017-12-01 2018-02-01 2018-04-02 2018-10-01 2019-02-01 2019-03-11 2019-04-30
2019-06-01 2019-06-04 2019-08-01 2019-08-15 2019-11-01 2020-06-01 2020-07-15 2020-09-01 2020-10-01 2020-12-01 2021-01-01
2021-02-01 2021-03-01 2021-05-01 2021-08-01 2021-10-01 2021-11-01 2021-11-15 2021-12-13 2023-07-01 2023-11-15 2024-03-15
2024-07-17 2025-04-07
"""
DOCUMENTED_VERSIONS = _DOCUMENTED.split()
_TEXT_SINCE = {
    "name": "2017-04-02",
    "vmId": "2017-04-02",
    "location": "2017-04-02",
    "platformUpdateDomain": "2017-04-02",
    "platformFaultDomain": "2017-04-02",
    "resourceGroupName": "2017-08-01",
    "subscriptionId": "2017-08-01",
    "placementGroupId": "2017-08-01",
    "tags": "2017-08-01",
    "vmScaleSetName": "2017-12-01",
    "zone": "2017-12-01",
    "azEnvironment": "2018-10-01",
    "resourceId": "2019-03-11",
    "isHostCompatibilityLayerVm": "2020-06-01",
    "osProfile.computerName": "2020-07-15",
    "priority": "2020-12-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation.name": "2021-03-01",
    "virtualMachineScaleSet.id": "2021-03-01",
    "platformSubFaultDomain": "2021-10-01",
    "host.id": "2021-11-15",
    "hostGroup.id": "2021-11-15",
    "physicalZone": "2023-11-15",
}
_NOTHING = object()


def _inside(data: t.Any, path: str) -> t.Any:
    for name in path.split("."):
        if not isinstance(data, dict) or name not in data:
            return _NOTHING
        data = data[name]
    return data


def _is_text(value: t.Any) -> bool:
    return isinstance(value, str)


def _is_list_of_tags(value: t.Any) -> bool:
    return isinstance(value, list) and all(isinstance(tag, dict) and {"name", "value"} <= set(tag) for tag in value)


def _is_flag(value: t.Any) -> bool:
    return value in ("true", "false")


def _since(field: str, since: str, fits: Callable[[t.Any], bool] = _is_text, expected: str = "a text") -> Fact:
    def see(answers: Answers) -> Seen:
        if answers.document(compute(since)) is None:
            return not_seen(f"this cloud does not answer {since} of the instance metadata")
        shown = yes("nothing")
        for version in COMPUTE_VERSIONS:
            document = answers.document(compute(version))
            if document is None:
                continue
            value = _inside(document, field)
            if version < since and value is not _NOTHING:
                return no(f"there in {version}")
            if version >= since and (value is _NOTHING or not fits(value)):
                return no(f"{'missing' if value is _NOTHING else repr(value)[:60]} in {version}")
            if version >= since:
                shown = yes(_shown(value))
        return shown

    return Fact(f"compute.{field} from {since} on", "D", expected, see)


def _shown(value: t.Any) -> str:
    # Who the VM is, is nobody's business who reads a bug report.
    return "an empty text" if value == "" else "a text" if isinstance(value, str) else "a list"


def _all_are_texts(answers: Answers) -> Seen:
    newest = [one for one in COMPUTE_VERSIONS if answers.document(compute(one)) is not None]
    if not newest:
        return no(answers[compute(COMPUTE_VERSIONS[-1])].words)
    other = [place for place, value in _leaves(answers.document(compute(newest[-1])), "") if not isinstance(value, str)]
    return no(f"{other[0].strip('.')} is none") if other else yes("texts alone")


def _leaves(value: t.Any, place: str) -> list[tuple[str, t.Any]]:
    if isinstance(value, dict):
        return [leaf for name, inner in value.items() for leaf in _leaves(inner, f"{place}.{name}")]
    if isinstance(value, list):
        return [leaf for number, inner in enumerate(value) for leaf in _leaves(inner, f"{place}.{number}")]
    return [(place, value)]


def _versions(answers: Answers) -> list[str] | None:
    found = (answers.document("versions") or {}).get("apiVersions")
    return [str(version) for version in found] if isinstance(found, list) else None


def _lists_versions(answers: Answers) -> Seen:
    found = _versions(answers)
    return no(answers["versions"].words) if found is None else yes(f"{len(found)} versions")


def _has_all_versions(answers: Answers) -> Seen:
    found = _versions(answers)
    if found is None:
        return no(answers["versions"].words)
    missing = [version for version in DOCUMENTED_VERSIONS if version not in found]
    return no(f"without {', '.join(missing[:5])}") if missing else yes("all of them")


def _are_two_lists(answers: Answers) -> Seen:
    found = _versions(answers)
    if found is None:
        return no(answers["versions"].words)
    apart = [version for version in API_VERSIONS if version not in DOCUMENTED_VERSIONS]
    both = [version for version in apart if version in found]
    return no(f"{', '.join(both)} in it") if both else yes(f"without {', '.join(apart)}")


def _refuses(point: str, question: str, status: int, grade: str = "D") -> Fact:
    def see(answers: Answers) -> Seen:
        heard = answers[question]
        return (yes if heard.status == status else no)(heard.words)

    return Fact(point, grade, f"HTTP {status}", see)


def _leaf_is_the_name(answers: Answers) -> Seen:
    heard, whole = answers["leaf as text"], answers.document(compute("2017-04-02"))
    if heard.status != 200 or whole is None:
        return no(heard.words)
    return yes("HTTP 200, compute.name") if heard.body.strip() == whole.get("name") else no("HTTP 200, another text")


INSTANCE_FACTS: tuple[Fact, ...] = (
    Fact("/metadata/versions is answered without api-version", "D", "a list apiVersions", _lists_versions),
    Fact("/metadata/versions has the documented versions of the instance metadata", "D", "all", _has_all_versions),
    Fact("the versions of events are a list of their own", "I", "some of them are not in it", _are_two_lists),
    _refuses(f"the instance metadata does not know {NEWEST}", "instance, version of events", 400, "I"),
    _refuses("the instance metadata needs an api-version", "instance, no version", 400),
    _refuses("the instance metadata asks for the header Metadata: true", "instance, no header", 400),
    _refuses("the instance metadata refuses X-Forwarded-For", "instance, forwarded", 400),
    _refuses("a leaf without format=text is refused", "leaf", 400),
    Fact("a leaf with format=text is its value", "D", "HTTP 200, compute.name", _leaf_is_the_name),
    _refuses("an element that does not exist is not found", "no element", 404),
    *(
        _since(field, since, _is_flag, "true or false as a text")
        if field == "isHostCompatibilityLayerVm"
        else _since(field, since)
        for field, since in _TEXT_SINCE.items()
    ),
    _since("tagsList", "2019-06-04", _is_list_of_tags, "a list of names and values"),
    Fact("all that is no list and no object is a text", "D", "texts alone", _all_are_texts),
)
