# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind log.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import syslog

from .machine import WebError, request

PRIORITIES = {
    "debug": syslog.LOG_DEBUG,
    "info": syslog.LOG_INFO,
    "notice": syslog.LOG_NOTICE,
    "warning": syslog.LOG_WARNING,
    "err": syslog.LOG_ERR,
}


def look(host, arguments):
    return {}


def drain(host, arguments, _before):
    _tell(host, arguments, arguments["message"])


def restore(host, arguments, _before):
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
        request(
            webhook["url"],
            method="POST",
            body={"text": message} if body is None else body,
            headers=webhook.get("headers"),
            timeout=min(host.left(), webhook.get("timeout") or 10),
            validate_certs=webhook.get("validate_certs", True),
        )
    except WebError as error:
        if webhook.get("required"):
            raise
        host.warnings.append("The webhook was not told: %s" % error)
