# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program of the watcher.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import os
import signal
import sys

from .._azure import http
from . import children
from .protocol import BadSettings, read_reflex_settings, read_settings
from .watch import LONGEST_CALL, USUAL_CALL, Reader, Watch, say

USAGE = "Usage: watch --config FILE [--check]"


def main(words):
    """The exit code. `--check` only says whether the file can be used."""
    if words[:1] == ["--notify"]:
        # A child of the watcher's own.
        from .notify import main as tell

        return tell(read_settings(words[1]), int(words[2]), words[3], int(words[4]), say)
    if words[:1] in (["--reflex"], ["--return"]):
        return _react(words[1], words[0] == "--return")
    if len(words) not in (2, 3) or words[0] != "--config" or words[2:] not in ([], ["--check"]):
        say(USAGE)
        return 2
    try:
        settings = read_settings(words[1])
    except BadSettings as error:
        say(str(error))
        return 2
    if words[2:]:
        return 0
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    notices = children.Notices(settings, words[1], sys.argv[0])
    Watch(settings, _reader(settings), notices, children.ReflexStarter(settings, sys.argv[0])).run()
    return 0


def _react(path, only_return):
    """A process of its own: the reflexes, or only what undoes what they have done, right now."""
    from . import reflex as _reflex

    code = _reflex.AGAIN
    while code == _reflex.AGAIN:
        stamp = _stamp_of(path)
        try:
            settings = read_reflex_settings(path)
        except BadSettings as error:
            say(str(error))
            return 2
        # The watcher has started this after a good reading: the service is awake.
        reader = _reader(settings, keep=False, first_call=USUAL_CALL)
        if only_return:
            return _reflex.return_to_service(settings, reader, say)
        code = _reflex.main(settings, reader, say, lambda read=stamp: _stamp_of(path) != read)
    return code


def _stamp_of(path):
    """By which it is seen that the file was written anew, or is gone."""
    try:
        about = os.stat(path)
    except OSError:
        return None
    return about.st_mtime_ns, about.st_ino, about.st_size


def _end(_number, _frame):
    """Wherever the program is, also in a call that takes two minutes. What is half written is removed on the way."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    raise SystemExit(0)


def _reader(settings, keep=True, first_call=LONGEST_CALL):
    endpoints = [settings["endpoint"]]
    if endpoints == ["auto"]:
        # Imported where it is needed, which is rarely: it is large.
        from .._azure.imds import endpoints_by_dhcp as discovered_endpoints

        endpoints = [http.DEFAULT_ENDPOINT] + discovered_endpoints()
    transports = [http.HttpTransport(endpoint, keep=keep) for endpoint in endpoints]
    return Reader(transports, settings["api_version"], settings["vm_name"], first_call=first_call)
