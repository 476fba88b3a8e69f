# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as Azure writes them, and as we do.

This file runs on the managed host as well: standard library only, Python 3.6 or newer. A watcher keeps it in memory, so
that it reckons with dates itself: the modules that could do it take a megabyte each.
"""

import re
import time

_ISO_TIME = re.compile(
    r"(\d{4})-?(\d\d)-?(\d\d)(?:[T ](\d\d):?(\d\d)(?::?(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?$",
    re.IGNORECASE,
)
# The weekday is not believed: Microsoft's own samples have wrong ones.
_HTTP_TIME = re.compile(r"(?:[A-Za-z]+, *)?(\d\d?) ([A-Za-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS_IN_MONTH = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


# The years that four digits can write. Beyond them no text can be made of a time again.
_FIRST, _LAST = -62135596800.0, 253402300799.0


def timestamp(value):
    """Seconds since the epoch, from any of the forms in which Azure writes times, or None."""
    if not isinstance(value, str) or not value.strip():
        return None
    moment = _read(value.strip())
    return moment if moment is not None and _FIRST <= moment <= _LAST else None


def _read(text):
    iso = _ISO_TIME.match(text)
    if iso:
        year, month, day, hour, minute, second = (int(part or 0) for part in iso.groups()[:6])
        moment = _moment(year, month, day, hour, minute, second)
        return None if moment is None else moment - _offset(iso.group(7))
    http = _HTTP_TIME.match(text)
    if http and http.group(2).lower() in _MONTHS:
        day, year, hour, minute, second = (int(http.group(number)) for number in (1, 3, 4, 5, 6))
        moment = _moment(year, _MONTHS.index(http.group(2).lower()) + 1, day, hour, minute, second)
        if moment is not None:
            return moment
    return _unusual(text)


def iso(moment):
    """A time as `read_at` and `not_before` have it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def _moment(year, month, day, hour, minute, second):
    """None for a date or a time of day that there is not."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year >= 1 and 1 <= month <= 12 and hour <= 23 and minute <= 59 and second <= 61):
        return None
    if not 1 <= day <= _DAYS_IN_MONTH[month - 1] + (month == 2 and leap):
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719162
    days += sum(_DAYS_IN_MONTH[: month - 1]) + (month > 2 and leap) + day - 1
    return float(((days * 24 + hour) * 60 + minute) * 60 + second)


def _offset(zone):
    if not zone or zone.upper() == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    return (int(digits[:2]) * 3600 + int(digits[2:]) * 60) * (1 if zone[0] == "+" else -1)


def _unusual(text):
    # Imported where it is needed, which is rarely: it is large.
    import email.utils

    try:
        parts = email.utils.parsedate_tz(text)
        return None if parts is None else float(email.utils.mktime_tz(parts))
    except (ValueError, IndexError, OverflowError, TypeError):
        return None
