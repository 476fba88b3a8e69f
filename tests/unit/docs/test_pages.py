# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages quote, name and link to is there."""

from __future__ import annotations

import functools
import re
import urllib.parse

import pytest
import yaml
from helpers import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("roles/*/README.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
YAML = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Shorter than that, a piece of a message could be anywhere.
SHORTEST_PIECE = 8


@functools.lru_cache
def sources() -> str:
    """All code, with strings that go over several lines in one piece."""
    files = [*ROOT.glob("plugins/**/*.py"), *ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/**/*.yml")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    return re.sub(r"\s+", " ", re.sub(r'"\n\s*f?"', "", text))


def messages():
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.*)$", page, re.MULTILINE)
    return [message for heading in headings for message in re.findall(r"`([^`]+)`", heading)]


@pytest.mark.parametrize("message", messages())
def test_a_message_that_is_explained_is_one_that_is_said(message):
    pieces = [piece.strip(" .:()") for piece in message.split("...")]
    pieces = [piece for piece in pieces if len(piece) >= SHORTEST_PIECE]
    assert pieces
    for piece in pieces:
        assert piece in sources(), f"nothing says {piece!r}"


def test_the_messages_are_many():
    assert len(messages()) > 20


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        address = urllib.parse.urlsplit(target)
        if not address.scheme and address.path:
            assert (page.parent / address.path).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_are_yaml(page):
    for block in YAML.findall(page.read_text(encoding="utf-8")):
        # With Ansible's own tags, such as !unsafe, in it.
        assert list(yaml.parse(block))


def test_there_are_links_and_examples_to_look_at():
    pages = [page.read_text(encoding="utf-8") for page in PAGES]
    assert sum(len(LINK.findall(page)) for page in pages) > 50
    assert sum(len(YAML.findall(page)) for page in pages) > 30


def test_the_files_that_the_architecture_names_are_there():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:\w+/)+[\w.*]*)`", page)
    assert len(names) > 25
    for name in names:
        places = [name, f"plugins/{name}"]
        assert any(list(ROOT.glob(place.rstrip("/"))) for place in places), name


@pytest.mark.parametrize("side", ["module_utils", "plugin_utils"])
def test_the_architecture_has_a_word_on_each_subject(side):
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    room = ROOT / "plugins" / side
    subjects = {path.parent for path in room.glob("*/*.py")} | set(room.glob("*.py"))
    assert len(subjects) > 5
    assert [path.name for path in sorted(subjects) if f"`{side}/{path.name}" not in page] == []
