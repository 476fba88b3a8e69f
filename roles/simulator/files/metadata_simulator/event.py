# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One event, and how each api-version shows it."""

import collections
import email.utils
import time
import uuid

from .azure_facts import (
    ADVISORY,
    ADVISORY_VERSION,
    DEFAULT_NOTICE_SECONDS,
    DESCRIPTIONS,
    EVENT_FIELD_SINCE,
    EVENT_TYPE_SINCE,
    FREEZE_SECONDS,
    NOTICE_SECONDS,
    PREVIEW_VERSION,
    SPOT_ADVISORY,
    UNKNOWN_DURATION,
)
from .impact import impact_of, usual_dwell
from .input_checks import same_name


class Event:
    """One event of one delivery scope, from planned to gone."""

    def __init__(self, spec, scope, resources):
        self.id = spec.get("id") or str(uuid.uuid4()).upper()
        self.type = spec["type"]
        self.source = spec.get("source", "Platform")
        self.description = spec.get("description", DESCRIPTIONS.get((self.type, self.source), ""))
        self.duration = spec.get("duration", FREEZE_SECONDS if self.type == "Freeze" else UNKNOWN_DURATION)
        self.resources = resources
        self.scope = scope
        # An advisory comes and goes; it never starts.
        self.first_status = spec.get("status", ADVISORY if self.type == SPOT_ADVISORY else "Scheduled")
        self.after = spec.get("after", 0)
        self.notice = spec.get("notice", NOTICE_SECONDS.get(self.type, DEFAULT_NOTICE_SECONDS))
        self.late = spec.get("late", 0)
        self.approval_delay = spec.get("approval_delay", 0)
        self.cancel_after = spec.get("cancel_after")
        longest_stay = usual_dwell(self.type, self.source, scope.settings)
        self.dwell = spec.get("dwell", longest_stay)
        self.impact = impact_of(self.type, self.duration, self.dwell, spec.get("impact_seconds"), longest_stay)
        self.not_before_format = spec.get("not_before_format")
        self.extra = spec.get("extra", {})
        self.omit = spec.get("omit", [])
        self.status = "Planned"
        self.created_at = None
        self.not_before = None
        self.approved_at = None
        self.approved_by = None
        self.started_at = None
        self.started_by = None
        self.times = {}
        # The maintenance of a whole group that this event is a part of.
        self.maintenance = None

    def is_listed(self):
        return self.status in ("Scheduled", "Started", ADVISORY)

    def can_be_approved(self):
        return self.status in ("Scheduled", "Started")

    def names(self, vm):
        return any(same_name(name, vm.name) for name in self.resources)

    def start_without_approval(self):
        return self.not_before + self.late

    def cleared_at(self):
        """When this Terminate event stops holding back the others of its scope: approved, or timed out."""
        return self.not_before if self.approved_at is None else min(self.approved_at, self.not_before)

    def impact_ends(self):
        return self.started_at + self.impact.seconds

    def strikes(self, vm, now):
        """Whether this VM suffers from the event now; what it does for good is not asked here."""
        return (
            self.status == "Started" and self.names(vm) and self.impact.seconds is not None and now < self.impact_ends()
        )

    def document(self, version, clock):
        """The event as this api-version shows it."""
        fields = collections.OrderedDict()
        fields["EventId"] = self.id
        fields["EventStatus"] = self.status
        fields["EventType"] = self.type
        fields["ResourceType"] = "VirtualMachine"
        fields["Resources"] = [self._resource_name(name, version) for name in self.resources]
        fields["NotBefore"] = self._not_before_text(version, clock)
        fields["Description"] = self.description
        fields["EventSource"] = self.source
        fields["DurationInSeconds"] = self.duration
        shown = collections.OrderedDict(
            (name, value)
            for name, value in fields.items()
            if value is not None and version >= EVENT_FIELD_SINCE.get(name, PREVIEW_VERSION)
        )
        shown.update(self.extra)
        for name in self.omit:
            shown.pop(name, None)
        return shown

    def is_shown_to(self, version):
        since = ADVISORY_VERSION if self.status == ADVISORY else EVENT_TYPE_SINCE.get(self.type, PREVIEW_VERSION)
        return self.is_listed() and version >= since

    def _resource_name(self, name, version):
        """In the preview version names of IaaS VMs carry an underscore; roles of a cloud service are not IaaS VMs."""
        is_role = self.scope.group is not None and self.scope.group.kind == "cloud_service"
        return "_" + name if version == PREVIEW_VERSION and not is_role else name

    def _not_before_text(self, version, clock):
        form = self.not_before_format or ("iso" if version == PREVIEW_VERSION else "rfc1123")
        if form == "missing":
            return None
        if self.status == "Started" or form == "empty":
            return ""
        # Whole seconds, rounded down: the event never starts before the time that it announced.
        epoch = int(clock.wall(self.not_before))
        if form == "iso":
            return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
        text = email.utils.formatdate(epoch, usegmt=True)
        if form == "wrong_weekday":
            next_day = email.utils.formatdate(epoch + 86400, usegmt=True)
            return next_day[:3] + text[3:]
        return text

    def inside_view(self, clock):
        """The event as the control interface shows it."""
        return {
            "id": self.id,
            "type": self.type,
            "status": self.status,
            "source": self.source,
            "description": self.description,
            "duration": self.duration,
            "resources": self.resources,
            "group": self.scope.name,
            "notice": self.notice,
            "dwell": self.dwell,
            "impact_seconds": self.impact.seconds,
            "approval_delay": self.approval_delay,
            "not_before": None if self.not_before is None else clock.wall(self.not_before),
            "approved": self.approved_at is not None,
            "approved_by": self.approved_by,
            "started_by": self.started_by,
            "times": dict(self.times),
        }
