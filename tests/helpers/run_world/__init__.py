# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small world in which runs of a run live: the reference of the whole protocol, for tests.

Time is simulated. Azure, the hosts, a load balancer, the lock hosts and the runs are actors that act one after another;
a run decides with the real decide.py and does the rest as the model of a run says it, step by step.
"""
