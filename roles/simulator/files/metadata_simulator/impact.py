# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an event does to the VMs that it names, and so to their metadata service."""

import collections

from .azure_facts import DEFAULT_DWELL_SECONDS, FREEZE_SECONDS

# The VM answers nobody; it hangs, and goes on where it was; it is there no more.
DOWN, FROZEN, GONE = "down", "frozen", "gone"
KINDS = {"Freeze": FROZEN, "Preempt": GONE, "Terminate": GONE}
SECONDS = {"Reboot": 60, "Redeploy": 120}

# `seconds` is None for a VM that does not come back.
Impact = collections.namedtuple("Impact", "kind seconds")


def usual_dwell(event_type, source, settings):
    """Return how long such an event stays Started."""
    is_long = event_type == "Reboot" and source == "Platform"
    return settings["platform_reboot_seconds"] if is_long else DEFAULT_DWELL_SECONDS


def impact_of(event_type, duration, dwell, wanted_seconds=None, longest_stay=DEFAULT_DWELL_SECONDS):
    """The impact of an event of this type; it is over before the event is."""
    kind = KINDS.get(event_type, DOWN)
    if kind == GONE:
        return Impact(GONE, None)
    if wanted_seconds is not None:
        return Impact(kind, wanted_seconds)
    # A duration below 0 is one that Azure does not know, and 0 is no interruption at all.
    usual = (FREEZE_SECONDS if duration < 0 else duration) if kind == FROZEN else SECONDS.get(event_type, 0)
    # A stay that is longer than ten minutes is long because the VM is away.
    usual = max(usual, min(longest_stay, dwell) - DEFAULT_DWELL_SECONDS)
    return Impact(kind, min(usual, dwell))
