# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a transport gives, in the same words whichever it is: an answer, or how far the request came.

A transport is made for an endpoint and has `send(method, target, body, headers, connect_seconds, seconds)`: one
request, no proxy, no redirect, a limit to the body, and a deadline that no server can put off.

This file runs on the managed host: standard library only, Python 3.6 or newer.
"""

import collections

LARGEST_BODY = 1024 * 1024

Answer = collections.namedtuple("Answer", "status headers body at")

# int() would also take signs, underscores and the digits of other scripts, and isdigit() what int() does not.
_DIGITS = {10: frozenset("0123456789"), 16: frozenset("0123456789abcdefABCDEF")}
# What is longer is no number of seconds or bytes, and newer Pythons refuse to read thousands of digits.
LONGEST_NUMBER = 18


def number_in(text, base=10):
    """The number that a header writes, or None."""
    text = text.strip()
    if not text or len(text) > LONGEST_NUMBER or not _DIGITS[base].issuperset(text):
        return None
    return int(text, base)


class NotResolved(Exception):
    """The endpoint's name has no address."""


class NotAccepted(Exception):
    """No connection was made, so nothing was sent."""


class Broken(Exception):
    """The connection was made and ended without a whole answer: what was sent may have arrived."""


class TimedOut(Exception):
    """The connection was made and no whole answer came in the time given."""


class TooLarge(Exception):
    """The answer's body is larger than any event document. `status` is that of the answer, where it is known."""

    status = None
