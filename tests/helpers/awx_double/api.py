# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API of AWX 24 lets a client write: the fields of each kind of object, and what they hold.

A kind is a Python type, "id of <objects>", or the words that may be chosen. AWX itself passes over a field that it does
not know, so that a misspelt one is never noticed. The double refuses it.
"""

from __future__ import annotations

from typing import Any

PROMPTS: dict[str, Any] = {
    "extra_data": dict,
    "inventory": "id of inventories",
    "scm_branch": str,
    "job_type": {"run", "check"},
    "job_tags": str,
    "skip_tags": str,
    "limit": str,
    "diff_mode": bool,
    "verbosity": {"0", "1", "2", "3", "4", "5"},
    "execution_environment": "id of execution_environments",
    "forks": int,
    "job_slice_count": int,
    "timeout": int,
}
# Which setting of a template lets a node, a schedule or a launch say something else.
ASKED_BY = {
    "extra_data": "ask_variables_on_launch",
    "inventory": "ask_inventory_on_launch",
    "scm_branch": "ask_scm_branch_on_launch",
    "job_type": "ask_job_type_on_launch",
    "job_tags": "ask_tags_on_launch",
    "skip_tags": "ask_skip_tags_on_launch",
    "limit": "ask_limit_on_launch",
    "diff_mode": "ask_diff_mode_on_launch",
    "verbosity": "ask_verbosity_on_launch",
    "execution_environment": "ask_execution_environment_on_launch",
    "forks": "ask_forks_on_launch",
    "job_slice_count": "ask_job_slice_count_on_launch",
    "timeout": "ask_timeout_on_launch",
}
_NAMED: dict[str, Any] = {"name": str, "description": str}
_IN_AN_ORGANIZATION: dict[str, Any] = {**_NAMED, "organization": "id of organizations"}
_ASKS_OF_BOTH = dict.fromkeys(
    (
        "ask_inventory_on_launch",
        "ask_labels_on_launch",
        "ask_limit_on_launch",
        "ask_scm_branch_on_launch",
        "ask_skip_tags_on_launch",
        "ask_tags_on_launch",
        "ask_variables_on_launch",
    ),
    bool,
)

FIELDS: dict[str, dict[str, Any]] = {
    "organizations": {**_NAMED, "max_hosts": int, "default_environment": "id of execution_environments"},
    "projects": {
        **_IN_AN_ORGANIZATION,
        "local_path": str,
        "scm_type": {"", "git", "svn", "insights", "archive"},
        "scm_url": str,
        "scm_branch": str,
        "scm_refspec": str,
        "scm_clean": bool,
        "scm_track_submodules": bool,
        "scm_delete_on_update": bool,
        "credential": "id of credentials",
        "timeout": int,
        "scm_update_on_launch": bool,
        "scm_update_cache_timeout": int,
        "allow_override": bool,
        "default_environment": "id of execution_environments",
        "signature_validation_credential": "id of credentials",
    },
    "inventories": {
        **_IN_AN_ORGANIZATION,
        "kind": {"", "smart", "constructed"},
        "host_filter": str,
        "variables": str,
        "prevent_instance_group_fallback": bool,
    },
    "inventory_sources": {
        **_NAMED,
        "source": {
            "file",
            "constructed",
            "scm",
            "ec2",
            "gce",
            "azure_rm",
            "vmware",
            "satellite6",
            "openstack",
            "rhv",
            "controller",
            "insights",
            "terraform",
            "openshift_virtualization",
        },
        "source_path": str,
        "source_vars": str,
        "scm_branch": str,
        "credential": "id of credentials",
        "enabled_var": str,
        "enabled_value": str,
        "host_filter": str,
        "overwrite": bool,
        "overwrite_vars": bool,
        "timeout": int,
        "verbosity": {0, 1, 2},
        "limit": str,
        "execution_environment": "id of execution_environments",
        "inventory": "id of inventories",
        "update_on_launch": bool,
        "update_cache_timeout": int,
        "source_project": "id of projects",
    },
    "execution_environments": {
        **_IN_AN_ORGANIZATION,
        "image": str,
        "credential": "id of credentials",
        "pull": {"", "always", "missing", "never"},
    },
    "credential_types": {**_NAMED, "kind": {"cloud", "net"}, "inputs": dict, "injectors": dict},
    "credentials": {
        **_IN_AN_ORGANIZATION,
        "credential_type": "id of credential_types",
        "inputs": dict,
        "user": "id of users",
        "team": "id of teams",
    },
    "notification_templates": {
        **_IN_AN_ORGANIZATION,
        "notification_type": {
            "awssns",
            "email",
            "grafana",
            "irc",
            "mattermost",
            "pagerduty",
            "rocketchat",
            "slack",
            "twilio",
            "webhook",
        },
        "notification_configuration": dict,
        "messages": dict,
    },
    "job_templates": {
        **_NAMED,
        "job_type": {"run", "check"},
        "inventory": "id of inventories",
        "project": "id of projects",
        "playbook": str,
        "scm_branch": str,
        "forks": int,
        "limit": str,
        "verbosity": {0, 1, 2, 3, 4, 5},
        "extra_vars": str,
        "job_tags": str,
        "force_handlers": bool,
        "skip_tags": str,
        "start_at_task": str,
        "timeout": int,
        "use_fact_cache": bool,
        "execution_environment": "id of execution_environments",
        "host_config_key": str,
        **_ASKS_OF_BOTH,
        **dict.fromkeys(ASKED_BY.values(), bool),
        "ask_credential_on_launch": bool,
        "ask_instance_groups_on_launch": bool,
        "survey_enabled": bool,
        "become_enabled": bool,
        "diff_mode": bool,
        "allow_simultaneous": bool,
        "job_slice_count": int,
        "webhook_service": {"", "github", "gitlab"},
        "webhook_credential": "id of credentials",
        "prevent_instance_group_fallback": bool,
    },
    "workflow_job_templates": {
        **_IN_AN_ORGANIZATION,
        "extra_vars": str,
        "survey_enabled": bool,
        "allow_simultaneous": bool,
        "inventory": "id of inventories",
        "limit": str,
        "scm_branch": str,
        **_ASKS_OF_BOTH,
        "webhook_service": {"", "github", "gitlab"},
        "webhook_credential": "id of credentials",
        "skip_tags": str,
        "job_tags": str,
    },
    "workflow_job_template_nodes": {
        **PROMPTS,
        "workflow_job_template": "id of workflow_job_templates",
        "unified_job_template": "id of unified_job_templates",
        "all_parents_must_converge": bool,
        "identifier": str,
    },
    "workflow_approval_templates": {**_NAMED, "timeout": int},
    "schedules": {
        **_NAMED,
        **PROMPTS,
        "rrule": str,
        "unified_job_template": "id of unified_job_templates",
        "enabled": bool,
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
