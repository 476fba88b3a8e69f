# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plays Azure's metadata service (Scheduled Events) for a fleet of VMs described in one JSON file.

Standard library only, Python 3.6 or newer. `python3 DIR/metadata_simulator` runs it. The guide is docs/simulator.md of
the collection maintenance.azure; what the simulator promises is the list of tests in tests/conformance.

Two kinds of seconds: durations of the simulated world (notice, dwell, the slow first call, 24 hours of silence) are
"simulated seconds" and pass `speed` times as fast; rate limits and faults are in real seconds.
"""
