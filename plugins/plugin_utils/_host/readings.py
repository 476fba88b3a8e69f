# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readings and journals of hosts, and the VMs of the whole inventory."""

from __future__ import annotations

import contextlib
import time
import typing as t
from collections.abc import Mapping
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ...module_utils._azure import http, imds
from ...module_utils._host import journal_command as _journal_command
from .._azure import events as azure
from .._azure import vms
from .._azure.vms import InventoryNames
from .._common import ansible, text
from .._common.store import Store
from . import answers as _answers
from . import connection

READING = "maintenance_status"
# Registered by the roles drain and restore: in a run, their results bring a reading along.
DRAIN, RETURN = "drain_result", "restore_result"
# What has to be known of a host for it.
LAST_READING = (READING, DRAIN, RETURN)


def brought_along(result: t.Any) -> Mapping[str, t.Any] | None:
    """The reading in the result of a drain or of a return, if there is one."""
    found = result.get("reading") if isinstance(result, Mapping) else None
    return found if isinstance(found, Mapping) else None


def last_reading(variables: Mapping[str, t.Any]) -> t.Any:
    """The newest reading, by the controller's clock. One that failed has no time: it came after the others.

    For no host is drained or returned to service that was not read before, in this run.
    """
    newest = variables.get(READING)
    heard_at = newest.get("heard_at") if isinstance(newest, Mapping) else None
    for name in (DRAIN, RETURN):
        along = brought_along(variables.get(name))
        if along is not None and heard_at is not None and along["heard_at"] >= heard_at:
            newest, heard_at = along, along["heard_at"]
    return newest


# Every VM of a delivery group shows the events of all: with a thousand VMs, a thousand readings of a thousand events.
# So a reading of a run holds the events that name its own VM, and says in which document the others are.

Document = dict[str, t.Any]
# In a reading: there are more events, in the document of this digest.
OTHERS_IN = "other_events_in"


class Documents:
    """The documents that hosts of this run have shown."""

    def __init__(self, run_folder: str | Path) -> None:
        self.store = Store(run_folder, "documents")
        self._read: dict[str, Document | None] = {}

    def once(self, body: str) -> tuple[str, Document]:
        """The digest of a document, and what it says; understood only if no host of this run has shown it before.

        Raises BadReading.
        """
        try:
            digest = str(imds.document_digest(body))
        except ValueError:
            # Says what is wrong with it.
            azure.parse_document(body)
            raise
        document = self.known(digest)
        if document is None:
            understood = azure.parse_document(body)
            document = {**understood, "named": _named(understood["events"])}
            self.store.write(document, digest)
            self._read[digest] = document
        return digest, document

    def known(self, digest: str) -> Document | None:
        """The document with that digest, if a host of this run has shown it before."""
        if digest not in self._read:
            self._read[digest] = self.store.read(digest)
        return self._read[digest]

    def whole(self, status: t.Mapping[str, t.Any], now: float) -> dict[str, t.Any]:
        """A reading with the events of its whole document. Those of others are the same objects for all its hosts.

        Without the document nothing is known, least of all that there are no other events: it is no reading then.
        """
        digest = status.get(OTHERS_IN)
        if not isinstance(digest, str) or not isinstance(status.get("events"), list):
            return dict(status)
        shared = self._shared(digest, now)
        if shared is None:
            return {name: value for name, value in status.items() if name != "events"}
        own = {str(event["id"]): event for event in status["events"]}
        return {**status, "events": [own.get(event["id"], event) for event in shared]}

    def _shared(self, digest: str, now: float) -> list[dict[str, t.Any]] | None:
        document = self.known(digest)
        if document is None:
            return None
        if "shared" not in document:
            events: list[dict[str, t.Any]] = azure.build_status(document, None, now)["events"]
            document["shared"] = [{**event, "affects_this_host": False} for event in events]
        shared: list[dict[str, t.Any]] = document["shared"]
        return shared


def own_events(document: Document, vm_name: str) -> Document:
    """The document as if it held only what names this VM."""
    positions = document["named"].get(azure.canonical_name(vm_name), ())
    return {**document, "events": [document["events"][position] for position in positions]}


def _named(events: list[dict[str, t.Any]]) -> dict[str, list[int]]:
    """VM -> the places of the events that name it."""
    found: dict[str, list[int]] = {}
    for position, event in enumerate(events):
        for name in dict.fromkeys(azure.canonical_name(resource) for resource in event["resources"]):
            found.setdefault(name, []).append(position)
    return found


def status_told(answers: dict[str, t.Any], vm_name: str | None, documents: Documents | None = None) -> dict[str, t.Any]:
    """`maintenance_status`, and the endpoint that it came from. Fails where something else has answered.

    With `documents`, it holds the events that name this VM, and says where those of others are.
    """
    try:
        identity = azure.parse_identity(answers["instance"]["body"]) if answers["instance"] else None
        name = identity["vm_name"] if identity else vm_name
        more = {}
        if documents and name:
            digest, document = documents.once(answers["events"]["body"])
            document, more = own_events(document, name), {OTHERS_IN: digest}
        else:
            document = azure.parse_document(answers["events"]["body"])
    except azure.BadReading as error:
        raise AnsibleActionFail(
            f"{answers['endpoint']} did not answer like the metadata service. {error}."
            " Something else may be answering at this address, such as a proxy."
        ) from None
    return {
        "endpoint": answers["endpoint"],
        **azure.build_status(document, identity, answers["heard_at"], vm_name),
        **more,
    }


def status_told_in_a_run(
    answers: dict[str, t.Any], known: dict[str, t.Any] | None, vm_name: str | None, documents: Documents
) -> dict[str, t.Any]:
    """The same, with the digest of the document. `known`: who the VM is, as it has told before in this run."""
    status = status_told(answers, str(known["vm_name"]) if known else vm_name, documents)
    if known:
        status["this_host"] = known
    digest = status.get(OTHERS_IN) or imds.document_digest(answers["events"]["body"])
    return {**status, "document_sha256": digest, "heard_at": answers["heard_at"]}


def endpoint_of(told: str, asked: str) -> str:
    """The endpoint that answered: the one that was asked, or one that the host found for itself."""
    if asked != "auto":
        return asked
    try:
        return str(http.check_endpoint(told))
    except ValueError as error:
        raise AnsibleActionFail(f"The host says that something else than an endpoint answered: {error}") from None


def reading_along(
    look: dict[str, t.Any] | None, asked: t.Mapping[str, t.Any], this_host: dict[str, t.Any] | None, kept_in: str
) -> dict[str, t.Any] | None:
    """As the action _read would have it; None where the host is to be asked by itself."""
    if not look or not this_host or not this_host.get("vm_name"):
        return None
    answers = {**look["answers"], "heard_at": time.time()}
    try:
        answers["endpoint"] = endpoint_of(answers["endpoint"], asked["endpoints"][0])
        status = status_told_in_a_run(answers, this_host, None, Documents(kept_in))
    except AnsibleActionFail:
        return None
    return {
        **status,
        "api_version": asked["api_version"],
        "journal": look["journal"],
        "journal_problem": "",
        "host_clock": look["clock"],
        "run_mark": look["run_mark"],
    }


class ApiVersions:
    """The versions that the service of a host has answered, where the user has left them to us."""

    def __init__(self, run_folder: str | Path, host: str) -> None:
        self.store = Store(run_folder, "api-versions")
        self.host = host

    def wanted(self, options: dict[str, t.Any]) -> str:
        """The version to ask for: that of the options, or what was found; `auto` before anything was."""
        if options["api_version"] != imds.AUTO:
            return str(options["api_version"])
        found = self.store.read(self.host, options["endpoint"])
        return found if found in imds.API_VERSIONS else imds.AUTO

    def learn(self, options: dict[str, t.Any], answers: dict[str, t.Any]) -> None:
        """Keep the version that was answered."""
        version = answers.get("api_version")
        if options["api_version"] != imds.AUTO or version is None:
            return
        # An endpoint that was found too is asked by its own name from now on.
        for endpoint in (options["endpoint"], str(answers["endpoint"])):
            self.store.write(version, self.host, endpoint)


# What a step was given may be secret.
JOURNAL = connection.HostHalf("journal", _journal_command, _answers.JOURNAL, private=True)


def ask_journal(action: ActionBase, request: dict[str, t.Any], task_vars: dict[str, t.Any]) -> dict[str, t.Any]:
    """The result of drain_journal for its options."""
    return JOURNAL.run(action, request, task_vars)


def complete_fence(options: dict[str, t.Any], versions: ApiVersions) -> dict[str, t.Any] | None:
    """The fence of a task, with what the host needs to ask whether the events are still there."""
    if not options["fence"]:
        return None
    endpoint = options["endpoint"]
    if endpoint != "auto":
        try:
            endpoint = http.check_endpoint(endpoint)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from None
    ask = {"endpoints": [endpoint], "api_version": versions.wanted({**options, "endpoint": endpoint})}
    return {**ansible.plain(options["fence"]), "ask": ask}


def names_of_inventory(hostvars: t.Any, folder: str | None = None) -> InventoryNames:
    """`folder`: a private one of this Ansible process, so that of many hosts with one task only the first looks."""
    hosts = [str(host) for host in hostvars]
    store = Store(folder, "inventory") if folder else None
    kept = store.read("vms") if store else None
    if kept and kept["hosts"] == hosts:
        return InventoryNames(hosts, kept["known"])
    known = vms.known_vms(hosts, ansible.plain(text.needed_vars(hosts, hostvars, (), texts=vms.IDENTITY_VARIABLES)))
    shared = vms.of_one_short_name(hosts)
    statuses = ansible.plain(text.needed_vars(shared, hostvars, (), texts=("maintenance_status",)))
    known = vms.with_told_scopes(known, vms.this_hosts_of(shared, statuses))
    if store:
        with contextlib.suppress(OSError):
            store.write({"hosts": hosts, "known": known}, "vms")
    return InventoryNames(hosts, known)
