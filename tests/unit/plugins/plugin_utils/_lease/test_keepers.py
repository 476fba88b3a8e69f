# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts keep the lease of a group, and in which file."""

from __future__ import annotations

import posixpath
import re

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._lock.keepers import (
    group_path,
    lease_groups,
    windows_hosts,
)
from hypothesis import given
from hypothesis import strategies as st

PATH = "/var/lib/azure-maintenance/run.lock"


def test_the_first_three_hosts_of_each_group_in_natural_order():
    groups = {"web-10": "web", "web-2": "web", "web-1": "web", "web-3": "web", "db-2": "db", "db-1": "db", "x": ""}
    assert lease_groups(groups) == {"": ["x"], "db": ["db-1", "db-2"], "web": ["web-1", "web-2", "web-3"]}


def test_what_the_user_names_keeps_every_lease():
    assert lease_groups({"a": "one", "b": ""}, ["k10", "k2", "k2"]) == {"": ["k2", "k10"], "one": ["k2", "k10"]}
    assert lease_groups({"a": ""}, []) == {"": []}
    assert lease_groups({}) == {}


@pytest.mark.parametrize("wrong", ["bastion", {"bastion": 1}, [7], 7])
def test_what_is_no_list_of_hosts_is_refused(wrong):
    with pytest.raises(ValueError, match="Expected a list of host names"):
        lease_groups({"a": ""}, wrong)


@given(st.dictionaries(st.text(min_size=1, max_size=4), st.sampled_from(["", "a", "b"])), st.randoms())
def test_two_runs_of_one_inventory_meet_at_the_same_keepers(groups, random):
    other = list(groups.items())
    random.shuffle(other)
    found = lease_groups(groups)
    assert found == lease_groups(dict(other))
    for group, keepers in found.items():
        assert 1 <= len(keepers) <= 3
        assert {groups[keeper] for keeper in keepers} == {group}


def test_a_group_has_a_file_of_its_own_beside_that_of_all_others():
    assert group_path(PATH, "") == PATH
    assert re.fullmatch(r"/var/lib/azure-maintenance/run\.set-web-[0-9a-f]{12}\.lock", group_path(PATH, "set-web"))
    assert re.fullmatch(r"/x/lease\.a-[0-9a-f]{12}", group_path("/x/lease", "a"))
    # The word of a fan-out lies there, too.
    assert group_path(PATH, "fan-out") != "/var/lib/azure-maintenance/fan-out.lock"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/", "..", ".", "a\nb", "\0", "$(touch x)", "~root", "$HOME", "Ünï", "\ud800", "x" * 900],
)
def test_any_name_makes_a_plain_file_name(name):
    folder, file = posixpath.split(group_path(PATH, name))
    assert folder == "/var/lib/azure-maintenance"
    assert re.fullmatch(r"run\.([A-Za-z0-9_-]+-)?[0-9a-f]{12}\.lock", file)
    assert len(file) < 100


@given(st.lists(st.text(max_size=60), unique=True, max_size=20))
def test_no_two_groups_share_a_file(names):
    assert len({group_path(PATH, name) for name in names}) == len(names)


def test_windows_hosts_come_last():
    groups = dict.fromkeys(["win-1", "win-2", "win-3", "x-9"], "")
    assert lease_groups(groups, windows={"win-1", "win-2", "win-3"}) == {"": ["x-9", "win-1", "win-2"]}
    variables = {
        "a": {"ansible_connection": "psrp"},
        "b": {"ansible_connection": "ssh"},
        "c": {"ansible_shell_type": "powershell"},
        "d": {},
    }
    assert windows_hosts(variables) == {"a", "c"}


def test_a_path_of_windows_stays_one():
    assert group_path("C:\\ProgramData\\x\\run.lock", "set-web").startswith("C:\\ProgramData\\x\\run.set-web-")
    assert group_path("C:\\ProgramData\\x\\run.lock", "set-web").endswith(".lock")
