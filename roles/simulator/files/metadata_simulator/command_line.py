# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options, and the file that they name."""

import argparse
import json
import sys

from .input_checks import InputError, checked
from .settings import PROFILES, SETTING_RULES

EXAMPLE_FLEET = """{
  "groups": {
    "web": {"kind": "availability_set", "resource_group": "rg-web"},
    "pool": {"kind": "scale_set"},
    "flex": {"kind": "flexible_scale_set"}
  },
  "vms": [
    {"name": "web-0", "group": "web", "update_domain": "0"},
    {"name": "web-1", "group": "web", "update_domain": "1"},
    {"name": "pool_0", "group": "pool"},
    {"name": "flex_1a2b3c4d", "group": "flex"},
    {"name": "db-0", "zone": "1", "address": "127.0.10.1"}
  ],
  "events": [
    {"scenario": "live_migration", "resources": ["web-0"]},
    {"type": "Reboot", "resources": ["db-0"], "notice": 600, "after": 60}
  ],
  "settings": {"speed": 60}
}
"""

EPILOG = """Prints one line "vm NAME URL" for each VM, then "control URL", then "ready". Stops on SIGTERM or Ctrl-C.
Durations (notice, Started dwell, the slow first call, 24 hours of silence) are divided by the speed.
The commands of --on-start and --on-finish get SIM_EVENT_ID, SIM_EVENT_TYPE, SIM_EVENT_CHANGE, SIM_RESOURCES (names with
commas), SIM_GROUP, SIM_DURATION, SIM_IMPACT (down, frozen, gone) and SIM_IMPACT_SECONDS in their environment."""


def command_line():
    parser = argparse.ArgumentParser(
        prog="metadata_simulator",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=EPILOG,
        description="Plays Azure's metadata service, Scheduled Events included, for a fleet of VMs.",
    )
    parser.add_argument("--fleet", metavar="FILE", help="the fleet, a JSON file; - reads standard input")
    parser.add_argument("--example", action="store_true", help="print a fleet file to start from, and end")
    parser.add_argument("--check", action="store_true", help="check the fleet file and the options, and end")
    parser.add_argument(
        "--port",
        type=int,
        default=80,
        metavar="N",
        help="port of every VM that has none of its own; 0 takes a free one for each (default: 80)",
    )
    parser.add_argument(
        "--control",
        default="127.0.0.1:0",
        metavar="HOST:PORT",
        help="where the control interface listens (default: 127.0.0.1:0, a free port)",
    )
    parser.add_argument(
        "--profile",
        choices=sorted(PROFILES),
        default="azure",
        help="azure: as slow and as rough as Azure may be; quick: without waiting and without impact (default: azure)",
    )
    parser.add_argument("--speed", type=float, metavar="F", help="how many times as fast durations pass (default: 1)")
    parser.add_argument(
        "--first-call-seconds",
        type=float,
        metavar="S",
        help="how long the call takes that switches the service on (azure: 120, quick: 0)",
    )
    parser.add_argument(
        "--events-after-seconds",
        type=float,
        metavar="S",
        help="how long after it events begin to show (azure: 180, quick: 0)",
    )
    parser.add_argument(
        "--off-after-seconds",
        type=float,
        metavar="S",
        help="silence after which the service switches itself off (default: 86400; 0: never)",
    )
    parser.add_argument(
        "--requests-per-second",
        type=int,
        metavar="N",
        help="requests a second that a VM may send before 429 (default: 5; 0: no limit)",
    )
    parser.add_argument(
        "--unknown-event-status",
        type=int,
        metavar="CODE",
        help="answer to the approval of an event that is not listed (default: 200)",
    )
    parser.add_argument(
        "--impact",
        choices=("on", "off"),
        help="whether a VM's metadata service goes as the VM goes when an event starts (azure: on, quick: off)",
    )
    parser.add_argument(
        "--api-versions",
        type=lambda text: text.split(","),
        metavar="V,V",
        help="the only api-versions of events to answer, as some clouds lack some (default: all eight)",
    )
    parser.add_argument(
        "--unknown-version-status",
        type=int,
        metavar="CODE",
        help="answer to an api-version of events that is not there: 400 or 404 (default: 400)",
    )
    parser.add_argument(
        "--platform-reboot-seconds",
        type=float,
        metavar="S",
        help="how long a Reboot by the platform stays Started; its VMs are back ten minutes earlier (azure: 2100), "
        "or after one minute (quick: 600)",
    )
    parser.add_argument(
        "--domain-pause-seconds",
        type=float,
        metavar="S",
        help="how long a maintenance waits between two domains of its group (azure: 1800, quick: 0)",
    )
    parser.add_argument(
        "--stop-with-stdin",
        action="store_true",
        help="stop when standard input is closed, so that no simulator outlives the test that began it",
    )
    parser.add_argument("--on-start", metavar="COMMAND", help="shell command to run when an event is Started")
    parser.add_argument("--on-finish", metavar="COMMAND", help="shell command to run when an event has finished")
    return parser


def read_fleet(path):
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as source:
                text = source.read()
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise InputError("cannot read the fleet file %s: %s" % (path, reason)) from None
    try:
        return json.loads(text)
    except ValueError as problem:
        raise InputError("the fleet file %s is not JSON: %s" % (path, problem)) from None


def host_and_port(text):
    host, _dummy, port = text.rpartition(":")
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise InputError("--control must be HOST:PORT, not %s" % json.dumps(text))
    return "127.0.0.1" if host == "localhost" else host, int(port)


def settings_of(options):
    given = {
        name: getattr(options, name)
        for name in (
            "speed",
            "first_call_seconds",
            "events_after_seconds",
            "off_after_seconds",
            "requests_per_second",
            "unknown_event_status",
            "api_versions",
            "unknown_version_status",
            "platform_reboot_seconds",
            "domain_pause_seconds",
        )
    }
    given["impact"] = None if options.impact is None else options.impact == "on"
    return checked("the command line", given, SETTING_RULES)
