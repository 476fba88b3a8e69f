# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The loop that accepts connections."""

import contextlib
import errno
import selectors
import socket
import sys
import threading
import time

from .connection import serve
from .input_checks import InputError
from .listening_sockets import listening_socket, url_of


class Network:
    """One loop accepts on all listening sockets; each connection gets a thread."""

    def __init__(self):
        self._selector = selectors.DefaultSelector()
        self._wake_reader, self._wake_writer = socket.socketpair()
        self._wake_reader.setblocking(False)
        self._wake_writer.setblocking(False)
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._listeners = {}
        self._places = {}
        self._refused = set()
        self._synced = threading.Condition()
        self._sync_count = 0
        self._stopping = False

    def listen(self, key, address, port, what, server, namespace=None):
        """Opens a listening socket; gives its URL."""
        listener = listening_socket(address, port, what, namespace)
        address, port = listener.getsockname()[:2]
        self._places[key] = ((address, port, what, namespace), server)
        self._open(key, listener)
        return url_of(listener)

    def _open(self, key, listener):
        self._listeners[key] = listener
        self._selector.register(listener, selectors.EVENT_READ, self._places[key][1])

    def _close(self, key):
        listener = self._listeners.pop(key)
        self._selector.unregister(listener)
        listener.close()

    def stop(self, *_dummy):
        self._stopping = True
        self.wake()

    def wake(self):
        """Has the loop look anew at who is to be refused."""
        with contextlib.suppress(OSError):  # a full pipe wakes the loop as well
            self._wake_writer.send(b"x")

    def sync(self):
        """Called by other threads: comes back when the listeners follow the faults as they are now."""
        with self._synced:
            wanted = self._sync_count + 2  # the round that is under way may have looked too early
            while self._sync_count < wanted and not self._stopping:
                self.wake()
                self._synced.wait(0.02)

    def run(self, refused):
        """Accepts until stop() is called. `refused` gives the keys whose connections are to be refused now."""
        while not self._stopping:
            self._follow(refused())
            with self._synced:
                self._sync_count += 1
                self._synced.notify_all()
            for key, _dummy in self._selector.select(0.05 if self._refused else None):
                if key.fileobj is self._wake_reader:
                    self._drain_wakes()
                else:
                    self._accept(key.fileobj, key.data)
        for key in list(self._listeners):
            self._close(key)

    def _drain_wakes(self):
        with contextlib.suppress(BlockingIOError):
            while self._wake_reader.recv(4096):
                pass

    def _follow(self, refused):
        for key in refused - self._refused:
            self._close(key)
        still_closed = set()
        for key in self._refused - refused:
            place, _dummy = self._places[key]
            try:
                self._open(key, listening_socket(*place))
            except InputError as problem:
                print("metadata_simulator: %s" % problem, file=sys.stderr, flush=True)
                still_closed.add(key)
        self._refused = refused | still_closed

    def _accept(self, listener, server):
        try:
            connection, peer = listener.accept()
        except OSError as problem:
            if problem.errno in (errno.EMFILE, errno.ENFILE):
                time.sleep(0.05)  # no room for another connection now: do not spin
            return
        threading.Thread(target=serve, args=(connection, peer, server), daemon=True).start()
