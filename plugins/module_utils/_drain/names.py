# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What names may look like that go into a protocol: HAProxy's socket, nginx's file, systemd, URLs.

They are checked where a list of steps is read and once more where they are used, as they may have come another way.
This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import re

# A space or a semicolon would begin another command in HAProxy's command line.
_HAPROXY_NAME = re.compile(r"[A-Za-z0-9_.:-]+")
_NGINX_SERVER = re.compile(r"[A-Za-z0-9_.:/\[\]-]+")
# As systemd has them. A word that begins with a dash would be an option.
_UNIT = re.compile(r"[A-Za-z0-9:_.@\\][A-Za-z0-9:_.@\\-]{0,254}")
_URL = re.compile(r"https?://[^\s/?#@\x00-\x1f\x7f]+(?:[/?#][^\s\x00-\x1f\x7f]*)?", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_METHOD = re.compile(r"[A-Z]{1,20}")
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}")
# What could stand for several services is no name.
_WINDOWS_SERVICE = re.compile(r"[^/\\*?\[\]\x00-\x1f\x7f]{1,256}")
_WINDOWS_PATH = re.compile(r"[A-Za-z]:[\\/]")
_TAG = re.compile(r"[A-Za-z0-9_.@:/-]{1,64}")


def bad_name(kind, arguments, on_windows=False):
    """A sentence about the first name that can't be one, or None."""
    for problem in _problems(kind, arguments, on_windows):
        return problem
    return None


def _problems(kind, arguments, on_windows):
    haproxy, nginx = arguments.get("haproxy"), arguments.get("nginx")
    if kind == "load_balancer" and haproxy:
        for name in ("backend", "server"):
            if not _HAPROXY_NAME.fullmatch(str(haproxy[name])):
                yield "%r can't be the name of a %s of HAProxy" % (haproxy[name], name)
        yield from _bad_path("socket", haproxy["socket"])
    if kind == "load_balancer" and nginx:
        if not _NGINX_SERVER.fullmatch(str(nginx["server"])):
            yield "%r can't be the address of a server in nginx" % nginx["server"]
        yield from _bad_path("upstream_file", nginx["upstream_file"])
    if kind == "load_balancer" and arguments.get("probe_file"):
        yield from _bad_path("path", arguments["probe_file"]["path"], on_windows)
    if kind == "services":
        for name in arguments["names"]:
            yield from _bad_service(name, on_windows)
    if kind == "connections":
        for port in arguments["ports"]:
            if not isinstance(port, int) or not 0 < port < 65536:
                yield "%s is not a port" % port
    if kind == "failover" and arguments.get("patroni"):
        yield from _bad_url(arguments["patroni"]["url"])
    if kind == "log":
        if not _TAG.fullmatch(str(arguments.get("tag") or "azure-maintenance")):
            yield "%r can't be the tag of a message" % arguments["tag"]
        if arguments.get("webhook"):
            yield from _bad_url(arguments["webhook"]["url"])
            yield from _bad_headers(arguments["webhook"].get("headers"))
    if kind == "kubernetes" and not _NODE.fullmatch(str(arguments["node"])):
        yield "%r can't be the name of a node" % arguments["node"]


def bad_health_name(check, on_windows=False):
    """The same for a health check."""
    uri = check.get("uri")
    if uri:
        if not _METHOD.fullmatch(str(uri["method"])):
            return "%r can't be a method of HTTP" % uri["method"]
        for problem in list(_bad_url(uri["url"])) + list(_bad_headers(uri.get("headers"))):
            return problem
    if check.get("service") is not None:
        for problem in _bad_service(check["service"], on_windows):
            return problem
    if check.get("port") is not None and not 0 < check["port"] < 65536:
        return "%s is not a port" % check["port"]
    return None


def bad_web_address(url, headers):
    """The same for an address that is told something."""
    for problem in list(_bad_url(url)) + list(_bad_headers(headers)):
        return problem
    return None


def _bad_service(name, on_windows):
    if not (_WINDOWS_SERVICE if on_windows else _UNIT).fullmatch(str(name)):
        yield "%r can't be the name of a %s" % (name, "service" if on_windows else "unit of systemd")


def _bad_path(name, path, on_windows=False):
    absolute = _WINDOWS_PATH.match(str(path)) if on_windows else str(path).startswith("/")
    if not absolute or re.search(r"[\x00-\x1f\x7f]", str(path)):
        yield "%s must be an absolute path, not %r" % (name, path)


def _bad_url(url):
    if not _URL.fullmatch(str(url)):
        # Not quoted: there may be a password in it, in a place where nobody looks for one.
        yield "url is not an http or https address"


def _bad_headers(headers):
    for name, value in (headers or {}).items():
        if not _HEADER_NAME.fullmatch(str(name)) or re.search(r"[\x00\r\n]", str(value)):
            yield "%r can't be a header of HTTP" % name
