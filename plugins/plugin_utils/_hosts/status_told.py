# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host has passed on becomes a `maintenance_status`, whoever has asked for it."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleActionFail
from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import document_digest
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import (
    BadReading,
    build_status,
    parse_document,
    parse_identity,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._hosts.documents import (
    OTHERS_IN,
    Documents,
    own_events,
)


def status_told(answers: dict[str, t.Any], vm_name: str | None, documents: Documents | None = None) -> dict[str, t.Any]:
    """`maintenance_status`, and the endpoint that it came from. Fails where something else has answered.

    With `documents`, it holds the events that name this VM, and says where those of others are.
    """
    try:
        identity = parse_identity(answers["instance"]["body"]) if answers["instance"] else None
        name = identity["vm_name"] if identity else vm_name
        more = {}
        if documents and name:
            digest, document = documents.once(answers["events"]["body"])
            document, more = own_events(document, name), {OTHERS_IN: digest}
        else:
            document = parse_document(answers["events"]["body"])
    except BadReading as error:
        raise AnsibleActionFail(
            f"{answers['endpoint']} did not answer like the metadata service. {error}."
            " Something else may be answering at this address, such as a proxy."
        ) from None
    return {
        "endpoint": answers["endpoint"],
        **build_status(document, identity, answers["heard_at"], vm_name),
        **more,
    }


def status_told_in_a_roll(
    answers: dict[str, t.Any], known: dict[str, t.Any] | None, vm_name: str | None, documents: Documents
) -> dict[str, t.Any]:
    """The same, with the digest of the document. `known`: who the VM is, as it has told before in this run."""
    status = status_told(answers, str(known["vm_name"]) if known else vm_name, documents)
    if known:
        status["this_host"] = known
    digest = status.get(OTHERS_IN) or document_digest(answers["events"]["body"])
    return {**status, "document_sha256": digest, "heard_at": answers["heard_at"]}


def endpoint_of(told: str, asked: str) -> str:
    """The endpoint that answered: the one that was asked, or one that the host found for itself."""
    if asked != "auto":
        return asked
    try:
        return str(check_endpoint(told))
    except ValueError as error:
        raise AnsibleActionFail(f"The host says that something else than an endpoint answered: {error}") from None
