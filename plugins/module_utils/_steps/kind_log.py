# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind log.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import re
import syslog

from . import machine
from .kind import Kind

TAG = re.compile(r"[A-Za-z0-9_.@:/-]{1,64}\Z")
WEBHOOK = dict(
    url=dict(type="str", required=True),
    headers=dict(type="dict"),
    body=dict(type="raw"),
    required=dict(type="bool", default=False),
    sent_from=dict(type="str", default="host", choices=["host", "controller"]),
    timeout=dict(type="int", default=10),
    validate_certs=dict(type="bool", default=True),
)
PRIORITIES = {
    "debug": syslog.LOG_DEBUG,
    "info": syslog.LOG_INFO,
    "notice": syslog.LOG_NOTICE,
    "warning": syslog.LOG_WARNING,
    "err": syslog.LOG_ERR,
}


class Log(Kind):
    name = "log"
    options = dict(
        message=dict(type="str", required=True),
        restore_message=dict(type="str"),
        tag=dict(type="str", default="azure-maintenance"),
        priority=dict(type="str", default="notice", choices=["debug", "info", "notice", "warning", "err"]),
        webhook=dict(type="dict", options=WEBHOOK),
        timeout=dict(type="int", default=30),
    )
    undone_by = ("restore_message",)
    on_windows = "log"

    @classmethod
    def problems(cls, arguments, on_windows=False):
        if not TAG.match(str(arguments.get("tag") or "azure-maintenance")):
            yield "%r can't be the tag of a message" % arguments["tag"]
        webhook = arguments.get("webhook")
        problem = machine.bad_web_address(webhook["url"], webhook.get("headers")) if webhook else None
        if problem:
            yield problem

    @classmethod
    def webhook_of_the_controller(cls, arguments):
        webhook = arguments.get("webhook")
        return webhook if webhook and webhook.get("sent_from") == "controller" else None

    @classmethod
    def drain(cls, host, arguments, _before):
        _tell(host, arguments, arguments["message"])

    @classmethod
    def restore(cls, host, arguments, _before):
        if arguments.get("restore_message"):
            _tell(host, arguments, arguments["restore_message"])


def _tell(host, arguments, message):
    host.change("logged: %s" % message, _write, arguments, message)
    webhook = arguments.get("webhook")
    if webhook and webhook.get("sent_from", "host") == "host":
        host.change("told the webhook", send_message, host, webhook, message)


def _write(arguments, message):
    syslog.openlog(str(arguments.get("tag") or "azure-maintenance"), syslog.LOG_PID, syslog.LOG_DAEMON)
    # One message, one line: what a line break from elsewhere makes of a log is up to nobody.
    priority = PRIORITIES[arguments.get("priority") or "notice"]
    syslog.syslog(priority, " ".join(str(message).replace("\0", " ").split()))
    syslog.closelog()


def send_message(host, webhook, message):
    body = webhook.get("body")
    try:
        machine.request(
            webhook["url"],
            method="POST",
            body={"text": message} if body is None else body,
            headers=webhook.get("headers"),
            timeout=min(host.left(), webhook.get("timeout") or 10),
            validate_certs=webhook.get("validate_certs", True),
        )
    except machine.WebError as error:
        if webhook.get("required"):
            raise
        host.warnings.append("The webhook was not told: %s" % error)
