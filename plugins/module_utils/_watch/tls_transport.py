# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP over TLS, for the receivers of notices. They are trusted as the system does it, or by the user's own CA alone.

This file runs on the managed host: standard library only, Python 3.6 or newer. Only a process that sends a notice
imports it: that costs 20 ms.
"""

import os
import re
import ssl

from ansible_collections.maintenance.azure.plugins.module_utils._azure.http import NotAccepted, SocketTransport

# How OpenSSL finds the certificate of one CA without reading those of all others.
_HASHED_NAME = re.compile(r"[0-9a-f]{8}\.[0-9]+")


class _NotTrusted(NotAccepted):
    """None of the CAs that were looked at vouches for the receiver."""


class TlsTransport(SocketTransport):
    USUAL_PORT = 443

    def __init__(self, endpoint, ca_file=None):
        super(TlsTransport, self).__init__(endpoint)
        self.ca_file = ca_file

    def _connected(self, connect_seconds):
        folder = None if self.ca_file else folder_by_hash()
        if folder:
            # The system's bundle takes 25 ms to read; in its folder OpenSSL looks for the one CA that is needed.
            try:
                return self._secured(connect_seconds, capath=folder)
            except _NotTrusted:
                # It may be in the bundle all the same.
                pass
        return self._secured(connect_seconds, cafile=self.ca_file)

    def _secured(self, connect_seconds, **trusted):
        connection = super(TlsTransport, self)._connected(connect_seconds)
        try:
            context = ssl.create_default_context(**trusted)
            return context.wrap_socket(connection, server_hostname=self.host)
        except (OSError, ValueError) as error:
            connection.close()
            is_about_trust = getattr(error, "reason", None) == "CERTIFICATE_VERIFY_FAILED"
            problem = _NotTrusted if is_about_trust else NotAccepted
            raise problem("TLS: %s" % (getattr(error, "strerror", None) or error)) from None


def folder_by_hash():
    """The system's folder of CAs, if one of them can be found there by itself. None where a file was named for all."""
    paths = ssl.get_default_verify_paths()
    if os.environ.get(paths.openssl_cafile_env) or not paths.capath:
        return None
    try:
        return paths.capath if any(map(_HASHED_NAME.fullmatch, os.listdir(paths.capath))) else None
    except OSError:
        return None
