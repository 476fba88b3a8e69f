# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a run: whole, private, and written by whoever has read the newest."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.store import Overtaken, RunStore, Store

ODD = ("web-0", "web-1 ", "../../etc/passwd", "{{ x }}", "é\udcff")


@pytest.fixture
def store(tmp_path):
    begun = RunStore(tmp_path)
    begun.begin({"run_id": "r"}, {"waves": []}, run_id="r")
    return begun


def test_each_process_reads_what_the_last_one_has_kept(store, tmp_path):
    assert RunStore(tmp_path).state() == {"run_id": "r"}
    assert RunStore(tmp_path).plays.read_text() == '{"waves": []}'
    store.keep({"run_id": "r", "kept": {}}, taken_away=["a"])
    assert RunStore(tmp_path).state() == {"run_id": "r", "kept": {}}
    head = RunStore(tmp_path).head
    assert (head["run_id"], head["taken_away"]) == ("r", ["a"])


def test_who_has_read_an_older_state_writes_nothing(store, tmp_path):
    late = RunStore(tmp_path)
    late.state()
    store.keep({"number": 1}, orders={"web-0": {"number": 1}})
    with pytest.raises(Overtaken):
        late.keep({"number": 2}, {"waves": [["web-0"]]}, {"web-0": {"number": 2}}, run_id="other")
    assert (store.state(), store.order("web-0"), store.head["run_id"]) == ({"number": 1}, {"number": 1}, "r")
    assert store.plays.read_text() == '{"waves": []}'
    # Nor has one that never read it, or that a later run of the same ansible-playbook has put away.
    with pytest.raises(Overtaken):
        RunStore(tmp_path).keep({})
    RunStore(tmp_path).begin({"number": 3}, {})
    with pytest.raises(Overtaken):
        store.keep({"number": 4})


def test_each_host_has_the_newest_order_for_it_or_none(store, tmp_path):
    store.keep({}, orders={host: {"for": position} for position, host in enumerate(ODD)})
    assert [RunStore(tmp_path).order(host) for host in ODD] == [{"for": position} for position in range(len(ODD))]
    store.keep({"more": 1})
    assert store.order("web-0") == {"for": 0}
    store.keep({}, orders={"web-0": {"for": 7}})
    assert [store.order(host) for host in ODD] == [{"for": 7}, None, None, None, None]
    store.keep({}, orders={})
    assert store.order("web-0") is None


def test_a_run_that_begins_has_nothing_of_the_one_before(store, tmp_path):
    store.keep({}, orders={"web-0": {}}, taken_away=["a"])
    RunStore(tmp_path).begin({"run_id": "second"}, {"reads": []})
    assert (RunStore(tmp_path).order("web-0"), RunStore(tmp_path).head.get("taken_away")) == (None, None)


def test_without_a_run_there_is_no_state(tmp_path):
    with pytest.raises(ValueError, match="No run has begun here"):
        RunStore(tmp_path).state()
    assert (RunStore(tmp_path).head, RunStore(tmp_path).order("web-0")) == ({}, None)


def test_nobody_else_can_read_it_and_nothing_is_left_lying_about(store, tmp_path):
    for number in range(3):
        store.keep({"number": number}, {}, {"web-0": {}})
    names = [path for path in tmp_path.rglob("*") if path.suffix != ".lock"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in names)
    assert sorted(path.name.partition("-")[0] for path in store.folder.iterdir()) == [
        "head.json",
        "head.lock",
        "orders",
        "plays.json",
        "state",
    ]


def test_what_can_not_be_written_leaves_what_was_there(tmp_path):
    store = Store(tmp_path, "notes")
    store.write({"a": 1}, "key")
    with pytest.raises(TypeError):
        store.write({"a": object()}, "key")
    assert (store.read("key"), store.read("other")) == ({"a": 1}, None)
    assert len(list(Path(store.folder).iterdir())) == 1
