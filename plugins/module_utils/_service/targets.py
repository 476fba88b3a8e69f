# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of the metadata service: paths and api-versions.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

EVENTS_PATH = "/metadata/scheduledevents"
API_VERSIONS = ("2017-03-01", "2017-08-01", "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01")
# In place of a version: the newest of these that the service answers, as some clouds lack some.
AUTO = "auto"
# The instance metadata has versions of its own; this one has every field that we use and is old
# enough for every cloud.
INSTANCE_TARGET = "/metadata/instance/compute?api-version=2019-06-01&format=json"


def events_target(api_version):
    return "%s?api-version=%s" % (EVENTS_PATH, api_version)
