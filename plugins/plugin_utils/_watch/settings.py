# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watcher of a host is told, from the variables of the role watch: checked where a person sees it. Pure."""

from __future__ import annotations

import ipaddress
import typing as t
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import check_endpoint
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import bad_web_address
from ansible_collections.maintenance.azure.plugins.module_utils._watcher.protocol import SHORTEST_INTERVAL

_KEYS_OF_AN_ADDRESS = ("url", "secret", "ca_file", "headers")
METRICS = "azure_maintenance.prom"
_OWN_HEADERS = ("x-maintenance-", "content-", "connection", "host", "transfer-encoding")


class BadWatch(ValueError):
    """The variables of the role can't be used. The text is for the user."""


def settings_of(options: Mapping[str, t.Any]) -> dict[str, t.Any]:
    """The content of `watch_config`."""
    for name in ("interval", "heartbeat"):
        if not options[name] > 0:
            raise BadWatch(f"watch_{name} must be more than 0 seconds, not {options[name]}")
    if options["interval"] < SHORTEST_INTERVAL:
        raise BadWatch(
            f"watch_interval must be at least {SHORTEST_INTERVAL} seconds: the service allows 5 requests a second for"
            " all programs of a VM together"
        )
    if not options["name"].strip() or any(ord(letter) < 32 for letter in options["name"]):
        raise BadWatch(f"watch_name must be a name, not {options['name']!r}")
    for name in ("status_file", "journal"):
        if not options[name].startswith("/"):
            raise BadWatch(f"{name} must be an absolute path, not {options[name]!r}")
    return {
        "name": options["name"],
        "endpoint": _endpoint(options["endpoint"]),
        "api_version": options["api_version"],
        "vm_name": options["vm_name"] or None,
        "interval": options["interval"],
        "heartbeat": options["heartbeat"],
        "status_file": options["status_file"],
        "journal": options["journal"],
        "metrics_file": f"{options['status_file'].rpartition('/')[0]}/{METRICS}" if options["metrics"] else None,
        "notify": [_address(one, number) for number, one in enumerate(options["notify"], start=1)],
    }


def literal_addresses(settings: Mapping[str, t.Any]) -> list[str]:
    """The addresses that the watcher speaks to, if all of them are literal; else none, as a name may change."""
    urls = [settings["endpoint"], *(one["url"] for one in settings["notify"])]
    try:
        return list(dict.fromkeys(str(ipaddress.ip_address(urlsplit(url).hostname or "")) for url in urls))
    except ValueError:
        return []


def has_secrets(settings: Mapping[str, t.Any]) -> bool:
    return any(one.get("secret") or one.get("headers") for one in settings["notify"])


def _endpoint(endpoint: str) -> str:
    if endpoint == "auto":
        return endpoint
    try:
        return str(check_endpoint(endpoint))
    except ValueError as error:
        raise BadWatch(str(error)) from None


def _address(given: t.Any, number: int) -> dict[str, t.Any]:
    where = f"watch_notify, address {number}"
    if not isinstance(given, Mapping) or not isinstance(given.get("url"), str):
        raise BadWatch(f"{where}: needs a url, such as {{url: https://eda.example.com:5010/}}")
    unknown = [str(key) for key in given if key not in _KEYS_OF_AN_ADDRESS]
    if unknown:
        raise BadWatch(f"{where}: there is no {', '.join(unknown)}; known are {', '.join(_KEYS_OF_AN_ADDRESS)}")
    headers = given.get("headers") or {}
    if not isinstance(headers, Mapping):
        raise BadWatch(f"{where}: headers must be a mapping")
    if problem := bad_web_address(given["url"], headers):
        raise BadWatch(f"{where}: {problem}")
    taken = [name for name in headers if str(name).lower().startswith(_OWN_HEADERS)]
    if taken:
        raise BadWatch(f"{where}: the header {taken[0]} is set by the watcher itself")
    ca_file = given.get("ca_file") or None
    if ca_file and not str(ca_file).startswith("/"):
        raise BadWatch(f"{where}: ca_file must be an absolute path on the host, not {ca_file!r}")
    return {
        "url": given["url"],
        "secret": str(given["secret"]) if given.get("secret") else None,
        "ca_file": ca_file,
        "headers": {str(name): str(value) for name, value in headers.items()},
    }


def program_parts(files: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Path below the program's folder -> source, of all that runs on the host."""
    root = "lib/ansible_collections/maintenance/azure/plugins/module_utils"
    return {f"{root}/{name}": source for name, source in sorted(files)}
