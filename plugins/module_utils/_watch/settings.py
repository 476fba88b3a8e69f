# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the role watch has written for the program: one JSON file, checked when the program starts.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import json

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import DEFAULT_ENDPOINT

# Name -> default. One without a default has to be there.
DEFAULTS = {
    "name": None,
    "endpoint": DEFAULT_ENDPOINT,
    "api_version": "2020-07-01",
    "vm_name": None,
    "interval": 1,
    "heartbeat": 30,
    "status_file": "/run/azure-maintenance/status.json",
    "journal": "/var/lib/azure-maintenance/journal.json",
    "notify": [],
    "metrics_file": None,
    # How reflexes are started: not at all, by a unit of systemd, or as a child with these settings.
    "reflex_by": None,
    "reflex_settings": None,
}
# What the reflexes need beyond that, in a file that only root reads.
REFLEX_DEFAULTS = {
    "reflex": [],
    "latest": 60,
    "steps": [],
    "steps_digest": "",
    # Where the lists of steps are kept, each by its digest.
    "steps_dir": None,
    "timeout": 600,
    "audit_file": None,
}
_NUMBERS = ("interval", "heartbeat")
# The service allows 5 requests a second for a whole VM.
SHORTEST_INTERVAL = 0.25


class BadSettings(Exception):
    """The text is for the user."""


def read_reflex_settings(path):
    return read_settings(path, dict(DEFAULTS, **REFLEX_DEFAULTS))


def read_settings(path, defaults=None):
    """What the file says, with the defaults for what it does not say. Raises BadSettings."""
    try:
        with open(path, "rb") as settings_file:
            given = json.loads(settings_file.read().decode("utf-8"))
    except OSError as error:
        raise BadSettings("%s can't be read: %s" % (path, error.strerror or error)) from None
    except ValueError as error:
        raise BadSettings("%s is not JSON: %s" % (path, error)) from None
    if not isinstance(given, dict):
        raise BadSettings("%s is not a JSON object" % path)
    settings = dict(defaults or DEFAULTS, **given)
    if not isinstance(settings["name"], str) or not settings["name"]:
        raise BadSettings("%s does not say what this host is called (name)" % path)
    if any(ord(character) < 32 for character in settings["name"]):
        raise BadSettings("name in %s can't be part of a header: %r" % (path, settings["name"]))
    for key in _NUMBERS:
        number = settings[key]
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not number > 0:
            raise BadSettings("%s in %s must be a number of seconds, not %r" % (key, path, number))
    settings["interval"] = max(settings["interval"], SHORTEST_INTERVAL)
    if not isinstance(settings["notify"], list) or not all(
        isinstance(one, dict) and isinstance(one.get("url"), str) for one in settings["notify"]
    ):
        raise BadSettings("notify in %s must be a list of addresses, each with a url" % path)
    return settings
