# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The step kind nginx.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import contextlib
import fcntl
import os
import re
import shutil

from . import machine
from .kind import A_COMMAND, PATH, Kind
from .machine import StepError

SERVER = re.compile(r"[A-Za-z0-9_.:/\[\]-]+\Z")
# A `server` directive that is not in a comment; its last word decides.

DIRECTIVE = re.compile(
    r"^(?P<lead>[ \t]*(?:upstream\s+\S+\s*\{[ \t]*)?)(?P<statement>server\s+(?P<address>[^\s;]+)[^;#]*;)", re.M
)


class Nginx(Kind):
    name = "load_balancer.nginx"
    options = dict(
        upstream_file=dict(type="str", required=True),
        server=dict(type="str", required=True),
        host=dict(type="str"),
        test_command=dict(A_COMMAND, default="nginx -t"),
        reload_command=dict(A_COMMAND, default="nginx -s reload"),
        timeout=dict(type="int", default=60),
    )
    acts_on = ("upstream_file", "server")
    commands = ("test_command", "reload_command")
    has_host = True

    @classmethod
    def problems(cls, arguments, on_windows=False):
        if not SERVER.match(str(arguments["server"])):
            yield "%r can't be the address of a server in nginx" % arguments["server"]
        yield from machine.bad_path("upstream_file", arguments["upstream_file"])

    @classmethod
    def needs(cls, arguments):
        return [(PATH, arguments["upstream_file"], "file")] + super().needs(arguments)

    @classmethod
    def look(cls, host, arguments):
        statements = statements_of(_read(arguments["upstream_file"]), arguments["server"])
        if not statements:
            raise StepError("There is no `server %s` in %s" % (arguments["server"], arguments["upstream_file"]))
        return {"statements": statements}

    @classmethod
    def drain(cls, host, arguments, before):
        if all(_is_down(statement) for statement in before["statements"]):
            return  # somebody else took it out of rotation
        _apply(host, arguments, lambda text: marked_down(text, arguments["server"]), "marked %s as down in nginx")

    @classmethod
    def restore(cls, host, arguments, before):
        originals = before.get("statements", [])
        if all(_is_down(statement) for statement in originals):
            return
        _apply(
            host,
            arguments,
            lambda text: put_back(text, arguments["server"], originals),
            "put %s back into rotation in nginx",
        )


def statements_of(text, server):
    return [found.group("statement") for found in DIRECTIVE.finditer(text) if found.group("address") == server]


def marked_down(text, server):
    return _replaced(text, server, lambda _number, old: old if _is_down(old) else old[:-1].rstrip() + " down;")


def put_back(text, server, originals):
    """Restore the original statement where only our `down` was added, else remove the `down`."""

    def original(number, old):
        before = originals[number] if number < len(originals) else ""
        if not _is_down(old) or _is_down(before):
            return old
        if before and old == before[:-1].rstrip() + " down;":
            return before
        return re.sub(r"\s+down(?=[\s;])", "", old)

    return _replaced(text, server, original)


def _replaced(text, server, change):
    numbers = iter(range(len(text)))

    def replacement(found):
        if found.group("address") != server:
            return found.group(0)
        return found.group("lead") + change(next(numbers), found.group("statement"))

    return DIRECTIVE.sub(replacement, text)


def _is_down(statement):
    return "down" in statement.rstrip(";").split()[2:]


def _apply(host, arguments, change, sentence):
    path = os.path.realpath(arguments["upstream_file"])
    with _locked(os.path.dirname(path)):
        old = _read(path)
        new = change(old)
        if new != old:
            host.change(sentence % arguments["server"], _write_and_test, host, arguments, path, old, new)
        # Also where the file needs no change: an earlier run may have been killed between the file and the reload.
        if not host.check_mode:
            _reload(host, arguments, path, old, new)


def _write_and_test(host, arguments, path, old, new):
    _write(path, new)
    try:
        host.must_run(arguments["test_command"])
    except StepError as error:
        _write(path, old)
        raise StepError("nginx does not like its configuration, %s is as it was. %s" % (path, error)) from None


def _reload(host, arguments, path, old, new):
    try:
        host.must_run(arguments["reload_command"])
    except StepError as error:
        if new != old:
            _write(path, old)
        raise StepError("nginx could not be reloaded, %s is as it was. %s" % (path, error)) from None


def _read(path):
    try:
        with open(path, "rb") as upstream_file:
            return upstream_file.read().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise StepError("%s can't be read: %s" % (path, error.strerror)) from None


def _write(path, text):
    temporary = os.path.join(os.path.dirname(path), ".%s.new" % os.path.basename(path))
    try:
        status = os.stat(path)
        with open(temporary, "wb") as new_file:
            new_file.write(text.encode("utf-8", "surrogateescape"))
        shutil.copystat(path, temporary)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(temporary, status.st_uid, status.st_gid)
        os.rename(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise StepError("%s can't be written: %s" % (path, error.strerror)) from None


@contextlib.contextmanager
def _locked(folder):
    """Lock a folder, as hosts of one wave edit the same file at the same time."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise StepError("%s can't be opened: %s" % (folder, error.strerror)) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
