# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text from the service is never a template. Where it can't be one, `ansible-inventory --list` prints it as text.

What Ansible does not take for a template of the user it prints as {"__ansible_unsafe": ...}. Jobs turn that back; the
pages of AWX, its host variables and jq do not. So only text is told apart that could be a template.
"""

from __future__ import annotations

import re
import typing as t

from ansible.utils.unsafe_proxy import wrap_var

try:
    from ansible.template import trust_as_template
except ImportError:
    # Before ansible-core 2.19 every text is a template, unless it is marked as none.
    trust_as_template = None

# Letters, digits and what stands between words: no bracket, quote, bar or other sign that means something to Jinja.
_WORDS = re.compile(r"[\w .,:;/@+=-]*")
# It sets other delimiters than braces for the rest of the text.
HEADER = "#jinja2:"


def could_be_a_template(text: str) -> bool:
    return "{" in text or "}" in text or text.startswith(HEADER)


def guard(value: t.Any) -> t.Any:
    """The same value, safe to be a variable of a host."""
    if isinstance(value, str):
        return _guard_text(value)
    if isinstance(value, dict):
        return {guard(key): guard(item) for key, item in value.items()}
    if isinstance(value, list):
        return [guard(item) for item in value]
    return value


def _guard_text(text: str) -> str:
    if trust_as_template is None:
        return t.cast(str, wrap_var(text)) if could_be_a_template(text) else text
    # Since 2.19 nothing is a template unless it is said to be one. That is said of words alone, in which nothing could
    # be evaluated, or else all of it would be printed as unsafe.
    return trust_as_template(text) if _WORDS.fullmatch(text) else text
