# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sockets that listen, also in another network namespace."""

import contextlib
import ctypes
import os
import socket

from .input_checks import InputError

CLONE_NEWNET = 0x40000000


@contextlib.contextmanager
def network_of(namespace):
    """Sockets that this thread opens in the block belong to the network namespace at that path, for ever."""
    if namespace is None:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(place):
        if libc.setns(place, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    with open("/proc/thread-self/ns/net") as own, open(namespace) as other:
        enter(other.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


def listening_socket(address, port, what, namespace=None):
    try:
        with network_of(namespace):
            listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, AttributeError) as problem:  # no setns but on Linux
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("cannot listen in the network namespace %s for %s: %s" % (namespace, what, reason)) from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(128)
        listener.setblocking(False)
    except (OSError, OverflowError) as problem:
        listener.close()
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError("cannot listen on %s port %d for %s: %s" % (address, port, what, reason)) from None
    return listener


def url_of(listener):
    address, port = listener.getsockname()[:2]
    return "http://%s:%d" % ("[%s]" % address if ":" in address else address, port)
