# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a notice is signed: the same for who sends it and for who checks it.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import hashlib
import hmac


def signature(secret, at, name, body):
    """The HMAC-SHA256 over time, host and body (bytes), with dots between them."""
    signed = ("%d.%s." % (at, name)).encode("utf-8") + body
    return hmac.new(secret.encode("utf-8"), signed, hashlib.sha256).hexdigest()
