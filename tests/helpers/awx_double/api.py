# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API of AWX 24 lets a client write: the fields of each kind of object, and what they hold.

A kind is a Python type, "id of <objects>", or the words that may be chosen. AWX itself passes over a field that it does
not know, so that a misspelt one is never noticed. The double refuses it.
"""

from __future__ import annotations

from typing import Any


def _of(kind: type, names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), kind)


def _ids(names: str) -> dict[str, Any]:
    """Each name with the objects of which it is an id."""
    return {name: f"id of {kind}" for name, kind in (pair.split(":") for pair in names.split())}


def _one_of(words: str) -> set[str]:
    return set(words.split())


PROMPTS: dict[str, Any] = {
    **_of(str, "scm_branch job_tags skip_tags limit"),
    **_of(int, "forks job_slice_count timeout"),
    **_of(bool, "diff_mode"),
    **_of(dict, "extra_data"),
    **_ids("inventory:inventories execution_environment:execution_environments"),
    "job_type": {"check", "run"},
    "verbosity": _one_of("0 1 2 3 4 5"),
}
# Which setting of a template lets a node, a schedule or a launch say something else.
ASKED_BY = {name: f"ask_{name}_on_launch" for name in PROMPTS} | {
    "extra_data": "ask_variables_on_launch",
    "job_tags": "ask_tags_on_launch",
}
_NAMED: dict[str, Any] = _of(str, "name description")
_IN_AN_ORGANIZATION: dict[str, Any] = {**_NAMED, **_ids("organization:organizations")}
_ASKED_OF_BOTH = _one_of("inventory labels limit scm_branch skip_tags tags variables")
_ASKS_OF_BOTH = {f"ask_{what}_on_launch": bool for what in _ASKED_OF_BOTH}
_ASKS_OF_A_JOB = {**_ASKS_OF_BOTH, **dict.fromkeys(ASKED_BY.values(), bool)}

FIELDS: dict[str, dict[str, Any]] = {
    "organizations": {**_NAMED, **_of(int, "max_hosts"), **_ids("default_environment:execution_environments")},
    "projects": {
        **_IN_AN_ORGANIZATION,
        **_of(str, "local_path scm_url scm_branch scm_refspec"),
        **_of(int, "timeout scm_update_cache_timeout"),
        **_of(bool, "scm_clean scm_track_submodules scm_delete_on_update scm_update_on_launch allow_override"),
        **_ids(
            "credential:credentials default_environment:execution_environments "
            "signature_validation_credential:credentials"
        ),
        "scm_type": {"", "archive", "git", "insights", "svn"},
    },
    "inventories": {
        **_IN_AN_ORGANIZATION,
        **_of(str, "host_filter variables"),
        **_of(bool, "prevent_instance_group_fallback"),
        "kind": {"", "constructed", "smart"},
    },
    "inventory_sources": {
        **_NAMED,
        **_of(str, "source_path source_vars scm_branch enabled_var enabled_value host_filter limit"),
        **_of(int, "timeout update_cache_timeout"),
        **_of(bool, "overwrite overwrite_vars update_on_launch"),
        **_ids(
            "credential:credentials execution_environment:execution_environments inventory:inventories "
            "source_project:projects"
        ),
        "source": _one_of(
            "azure_rm constructed controller ec2 file gce insights openshift_virtualization openstack rhv "
            "satellite6 scm terraform vmware"
        ),
        "verbosity": {0, 1, 2},
    },
    "execution_environments": {
        **_IN_AN_ORGANIZATION,
        **_of(str, "image"),
        **_ids("credential:credentials"),
        "pull": {"", "always", "missing", "never"},
    },
    "credential_types": {**_NAMED, **_of(dict, "inputs injectors"), "kind": {"cloud", "net"}},
    "credentials": {
        **_IN_AN_ORGANIZATION,
        **_of(dict, "inputs"),
        **_ids("credential_type:credential_types user:users team:teams"),
    },
    "notification_templates": {
        **_IN_AN_ORGANIZATION,
        **_of(dict, "notification_configuration messages"),
        "notification_type": _one_of("awssns email grafana irc mattermost pagerduty rocketchat slack twilio webhook"),
    },
    "job_templates": {
        **_NAMED,
        **_ASKS_OF_A_JOB,
        **_of(str, "playbook scm_branch limit extra_vars job_tags skip_tags start_at_task host_config_key"),
        **_of(int, "forks timeout job_slice_count"),
        **_of(
            bool,
            "force_handlers use_fact_cache ask_credential_on_launch ask_instance_groups_on_launch survey_enabled "
            "become_enabled diff_mode allow_simultaneous prevent_instance_group_fallback",
        ),
        **_ids(
            "inventory:inventories project:projects execution_environment:execution_environments "
            "webhook_credential:credentials"
        ),
        "job_type": {"check", "run"},
        "verbosity": {0, 1, 2, 3, 4, 5},
        "webhook_service": {"", "github", "gitlab"},
    },
    "workflow_job_templates": {
        **_IN_AN_ORGANIZATION,
        **_ASKS_OF_BOTH,
        **_of(str, "extra_vars limit scm_branch skip_tags job_tags"),
        **_of(bool, "survey_enabled allow_simultaneous"),
        **_ids("inventory:inventories webhook_credential:credentials"),
        "webhook_service": {"", "github", "gitlab"},
    },
    "workflow_job_template_nodes": {
        **PROMPTS,
        **_of(str, "identifier"),
        **_of(bool, "all_parents_must_converge"),
        **_ids("workflow_job_template:workflow_job_templates unified_job_template:unified_job_templates"),
    },
    "workflow_approval_templates": {**_NAMED, **_of(int, "timeout")},
    "schedules": {
        **_NAMED,
        **PROMPTS,
        **_of(str, "rrule"),
        **_of(bool, "enabled"),
        **_ids("unified_job_template:unified_job_templates"),
    },
}

REQUIRED = {
    "organizations": {"name"},
    "projects": {"name"},
    "inventories": {"name", "organization"},
    "inventory_sources": {"name", "inventory"},
    "execution_environments": {"name", "image"},
    "credential_types": {"name", "kind"},
    "credentials": {"name", "credential_type"},
    "notification_templates": {"name", "organization", "notification_type"},
    "job_templates": {"name", "playbook"},
    "workflow_job_templates": {"name"},
    "workflow_job_template_nodes": {"workflow_job_template"},
    "workflow_approval_templates": {"name"},
    "schedules": {"name", "rrule", "unified_job_template"},
}

# Read-only, and sent all the same by awx.awx.
PASSED_OVER = {
    "credential_types": {"managed"},
    "job_templates": {"organization"},
    "workflow_job_template_nodes": {"type"},
}
# Where null is as good as nothing.
NULL_IS_FINE = {"inventories": {"kind", "host_filter"}}

_NOTIFIES = {f"notification_templates_{when}": "notification_templates" for when in ("started", "success", "error")}
ASSOCIATIONS: dict[str, dict[str, str]] = {
    "projects": _NOTIFIES,
    "inventories": {"instance_groups": "instance_groups"},
    "inventory_sources": _NOTIFIES,
    "job_templates": {**_NOTIFIES, "credentials": "credentials", "labels": "labels"},
    "workflow_job_templates": {
        **_NOTIFIES,
        "notification_templates_approvals": "notification_templates",
        "labels": "labels",
    },
    "workflow_job_template_nodes": {
        "success_nodes": "workflow_job_template_nodes",
        "failure_nodes": "workflow_job_template_nodes",
        "always_nodes": "workflow_job_template_nodes",
        "credentials": "credentials",
        "labels": "labels",
    },
}

# Besides the name: within what a name is unique.
UNIQUE: dict[str, tuple[str, ...]] = {
    "organizations": (),
    "execution_environments": (),
    "credential_types": (),
    "projects": ("organization",),
    "inventories": ("organization",),
    "job_templates": ("organization",),
    "workflow_job_templates": ("organization",),
    "notification_templates": ("organization",),
    "credentials": ("organization", "credential_type"),
    "inventory_sources": ("inventory",),
    "schedules": ("unified_job_template",),
}
# Never shown, and always taken for changed by awx.awx.
SECRETS = {"webhook": ("password",), "slack": ("token",), "mattermost": (), "email": ("password",)}
# What is needed, and what may be left out, to notify somebody: (needed, optional).
NOTIFICATIONS: dict[str, tuple[dict[str, type], dict[str, type]]] = {
    "webhook": (
        {"url": str, "headers": dict},
        {"http_method": str, "disable_ssl_verification": bool, "username": str, "password": str},
    ),
    "slack": ({"token": str, "channels": list}, {"hex_color": str}),
    "mattermost": (
        {"mattermost_url": str, "mattermost_no_verify_ssl": bool},
        {"mattermost_username": str, "mattermost_channel": str, "mattermost_icon_url": str},
    ),
    "email": (
        {
            **dict.fromkeys(("host", "sender", "username", "password"), str),
            "port": int,
            "recipients": list,
            "use_tls": bool,
            "use_ssl": bool,
        },
        {"timeout": int},
    ),
}
# What AWX writes into a configuration that leaves it out.
FILLED_IN: dict[str, dict[str, Any]] = {
    "webhook": {"http_method": "POST", "disable_ssl_verification": False, "username": "", "password": ""},
    "email": {"timeout": 30},
}
