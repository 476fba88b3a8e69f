# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of a run: its lock hosts, its owner, and who has a majority."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import posixpath
import re
import signal
import subprocess
import sys
import time

import pytest
from ansible_collections.maintenance.azure.plugins.plugin_utils._common import ansible as _ansible
from ansible_collections.maintenance.azure.plugins.plugin_utils._common.ansible import RunHasEnded, is_dead, this_run
from ansible_collections.maintenance.azure.plugins.plugin_utils._lease.lease import (
    group_path,
    lease_groups,
    owner_in_words,
    verdict,
    windows_hosts,
)
from helpers.leases import mark, note
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Which hosts keep the lease of a group, and in which file.

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
def test_two_runs_of_one_inventory_meet_at_the_same_lock_hosts(groups, random):
    other = list(groups.items())
    random.shuffle(other)
    found = lease_groups(groups)
    assert found == lease_groups(dict(other))
    for group, lock_hosts in found.items():
        assert 1 <= len(lock_hosts) <= 3
        assert {groups[lock_host] for lock_host in lock_hosts} == {group}


def test_a_group_has_a_file_of_its_own_beside_that_of_all_others():
    assert group_path(PATH, "") == PATH
    assert re.fullmatch(r"/var/lib/azure-maintenance/run\.set-web-[0-9a-f]{12}\.lock", group_path(PATH, "set-web"))
    assert re.fullmatch(r"/x/lease\.a-[0-9a-f]{12}", group_path("/x/lease", "a"))


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


# Who an owner is, and whether it lives.

FORK = multiprocessing.get_context("fork")
HOLDER = {"run_id": "nightly", "user": "deploy", "host": "ctl1", "note": "job 7", "taken_at": "2026-11-16T00:00:00Z"}


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def of_process(pid):
    return {**this_run("x", ""), "pid": pid, "process_start": _ansible._process(pid)[0]}


def test_this_run_is_alive():
    me = this_run("x", "note")
    assert me["pid"] == os.getppid()
    assert not is_dead(me, me["controller"])


def _after_the_run_was_killed(told):
    while multiprocessing.parent_process().pid == os.getppid():
        time.sleep(0.01)
    try:
        told.send(this_run("x", ""))
    except RunHasEnded as error:
        told.send(str(error))


def _killed_run(told):
    FORK.Process(target=_after_the_run_was_killed, args=(told,)).start()
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_that_outlives_its_run_is_no_owner():
    # Workers of a killed ansible-playbook finish their task; a lock that they take could be taken over by nobody.
    heard, told = FORK.Pipe(duplex=False)
    run = FORK.Process(target=_killed_run, args=(told,))
    run.start()
    run.join()
    assert heard.poll(30)
    assert "was killed" in heard.recv()


def test_a_process_is_dead_once_it_has_ended_even_if_nobody_has_looked(child):
    owner = of_process(child.pid)
    assert not is_dead(owner, owner["controller"])
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(owner, owner["controller"])
    child.wait()
    assert is_dead(owner, owner["controller"])


def test_another_process_with_the_same_number_is_not_the_owner(child):
    owner = {**of_process(child.pid), "process_start": "1"}
    assert is_dead(owner, owner["controller"])


@pytest.mark.parametrize("change", [{"controller": "other"}, {"process_start": ""}, {"pid": 0}, {"pid": -1}])
def test_what_can_not_be_known_counts_as_alive(child, change):
    owner = of_process(child.pid)
    child.kill()
    child.wait()
    assert not is_dead({**owner, **change}, owner["controller"])
    assert not is_dead({**owner, "controller": ""}, "")


def test_a_number_that_no_process_can_have_is_no_crash():
    me = this_run("x", "")
    assert not is_dead({**me, "pid": 2**80}, me["controller"])


def test_a_process_that_is_hidden_counts_as_alive(child, monkeypatch, tmp_path):
    owner = of_process(child.pid)
    monkeypatch.setattr(_ansible, "PROC", tmp_path)
    assert not is_dead(owner, owner["controller"])
    assert this_run("x", "")["controller"] == ""


def test_a_record_is_shown_as_letters_only():
    assert "\x1b" not in owner_in_words({**HOLDER, "user": "\x1b[2J", "run_id": "a\nb"})


def test_an_owner_in_words():
    assert owner_in_words(HOLDER) == "run nightly of deploy@ctl1 (job 7), since 2026-11-16T00:00:00Z"
    assert owner_in_words({**HOLDER, "note": "", "seconds_left": 83}).endswith(
        "deploy@ctl1, since 2026-11-16T00:00:00Z, for 83 seconds more"
    )
    # A liar leaves something out.
    assert owner_in_words({}) == "run ? of ?@? (?), since ?"


# What the answers of several lock hosts mean together.

OTHER_HOLDER = {
    "run_id": "nightly",
    "user": "deploy",
    "host": "ctl1",
    "note": "job 7",
    "controller": "c",
    "pid": 3,
    "process_start": "1",
    "taken_at": "2026-11-16T00:00:00Z",
    "seconds_left": 83,
}
MINE = {**OTHER_HOLDER, "run_id": "mine", "note": ""}
RENEWED = {"held": True, "renewed": True, "changed": False, "holder": MINE, "took_over_from": None, "notes": []}
NEW = {**RENEWED, "renewed": False, "changed": True}
BUSY = {"held": False, "renewed": False, "changed": False, "holder": OTHER_HOLDER, "took_over_from": None, "notes": []}
FREE = {**BUSY, "holder": None}
AWAY = {"unreachable": True, "msg": "No route to host"}
BROKEN = {"failed": False, "msg": "The lock file is damaged"}
FAILED = {**BUSY, "failed": True, "held": True, "msg": "The host's answer was cut off"}


def judged(*each, do="take", group="", **more):
    lock_hosts = [f"k{number}" for number in range(len(each))]
    return verdict(
        group, lock_hosts, {k: r for k, r in zip(lock_hosts, each, strict=True) if r is not None}, do, **more
    )


def test_release_and_read_hold_nothing():
    for do in ("release", "read"):
        assert not judged(RENEWED, RENEWED, do=do).held
    assert "is held by run nightly" in judged(BUSY, FREE, do="read").msg
    assert judged(FREE, FREE, do="read").holder == ""


def test_the_verdict_names_the_holder_and_every_lock_host():
    found = judged(NEW, BUSY, BUSY, AWAY, BROKEN, group="set-web")
    assert found.holder == "run nightly of deploy@ctl1 (job 7), since 2026-11-16T00:00:00Z, for 83 seconds more"
    assert found.unread_lock_hosts == ("k3", "k4")
    for part in (
        f"the lease of set-web is held by {found.holder}",
        "1 of 5 lock hosts",
        "it takes 3",
        "(k0: held, k1: busy, k2: busy, k3: unreachable, k4: The lock file is damaged)",
    ):
        assert part in found.msg


def test_who_has_most_of_them_is_named():
    other = {**BUSY, "holder": {**OTHER_HOLDER, "run_id": "other"}}
    assert judged(other, BUSY, BUSY).holder.startswith("run nightly")
    assert judged(NEW, NEW, FREE).holder.startswith("run mine")
    assert judged(NEW, NEW, BUSY).holder.startswith("run nightly")
    assert judged(NEW, FREE, FREE).holder == ""


def test_lock_hosts_that_are_unreachable_are_named_at_once():
    for do in ("take", "renew"):
        found = judged(RENEWED, AWAY, None, do=do)
        assert found.unread_lock_hosts == ("k1", "k2")
        assert "Make k1, k2 reachable again, or name other hosts in maintenance_lock_hosts" in found.msg
    # That somebody has the rest is not the reason.
    assert "Make k1, k2 reachable again" in judged(BUSY, AWAY, AWAY).msg


def test_of_two_lock_hosts_both_are_needed_and_that_is_said():
    assert judged(NEW, NEW).held
    found = judged(NEW, AWAY)
    assert not found.held
    assert "Of two lock hosts both are needed" in found.msg


def test_what_was_lost_and_what_was_taken_over_is_said():
    lost = judged(BUSY, BUSY, RENEWED, do="renew")
    assert "This run has lost the lease: 1 of 3 lock hosts" in lost.msg
    assert "Now it is held by run nightly" in lost.msg
    assert "lapsed, " in judged(FREE, FREE, RENEWED, do="renew").msg
    over = judged({**NEW, "took_over_from": {**OTHER_HOLDER, "reason": "dead"}})
    assert "taken over from run nightly of deploy@ctl1 (job 7)" in over.msg
    assert over.msg.endswith("whose process is dead.")


def test_notes_of_all_lock_hosts_that_answered():
    drain, approval = note("web-0"), note("web-0", mark=mark())
    other = note("web-0", events=("E1",), run="two")
    one, two = {**NEW, "notes": [drain, approval]}, {**BUSY, "notes": [drain, other]}
    found = judged(one, two, {**AWAY, "notes": [note("web-9")]})
    assert sorted(map(json.dumps, map(untagged, found.notes))) == sorted(map(json.dumps, [drain, approval, other]))
    assert found == judged(one, two, AWAY)


def untagged(found):
    return {name: value for name, value in found.items() if name not in ("by", "lacking")}


def lock_host(*notes, remembers=5000, **more):
    return {**NEW, "notes": list(notes), "remembers": remembers, **more}


def tags(*each, now=1000.0):
    (found,) = judged(*each, now=now).notes
    return found["by"], found["lacking"]


def test_a_note_says_who_keeps_it_and_who_should_and_does_not():
    kept = note("web-0")  # written at 7.5
    assert tags(lock_host(kept), lock_host(kept), lock_host()) == (["k0", "k1"], ["k2"])
    assert tags(lock_host(kept), AWAY, None) == (["k0"], [])
    # A lock host that lost its disk since does not know, and one that has just booted writes nothing.
    assert tags(lock_host(kept), lock_host(remembers=992), lock_host(remembers=993)) == (["k0"], ["k2"])
    assert tags(lock_host(kept), {**FREE, "notes": [], "remembers": 993, "too_new_for": 7}) == (["k0"], [])
    assert tags(lock_host(kept), {**FREE, "notes": []}) == (["k0"], [])
    # What was written in the future was written now.
    assert tags(lock_host({**kept, "at": 9e9}), lock_host(remembers=0)) == (["k0"], ["k1"])
    # Without a time nobody lacks anything.
    assert tags(lock_host(kept), lock_host(), now=None) == (["k0"], [])


def test_a_lock_host_can_not_change_the_note_of_another_one():
    honest = note("web-0")
    found = judged(lock_host({**honest, "type": "Preempt"}), lock_host(honest), lock_host(honest), now=1000.0).notes
    assert [(one["type"], one["by"], one["lacking"]) for one in found] == [
        ("Preempt", ["k0"], ["k1", "k2"]),
        ("Reboot", ["k1", "k2"], ["k0"]),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        7,
        "web-0",
        ["web-0"],
        {},
        {"host": "web-0"},
        *({name: value for name, value in note("web-0").items() if name != out} for out in note("web-0")),
        *({**note("web-0"), name: None} for name in ("host", "events", "type", "run", "at")),
        {**note("web-0"), "host": ["web-0"]},
        {**note("web-0"), "events": "E0"},
        {**note("web-0"), "events": [7]},
        {**note("web-0"), "events": ["E0"] * 1000},
        {**note("web-0"), "type": "x" * 5000},
        {**note("web-0"), "at": True},
        {**note("web-0"), "at": float("nan")},
        {**note("web-0"), "at": 10**400},
        {**note("web-0"), "mark": 0},
        {**note("web-0"), "mark": {}},
        {**note("web-0"), "mark": {**mark(), "hosts": "web-0"}},
        {**note("web-0"), "mark": {**mark(), "at": "now"}},
        {**note("web-0"), "mark": {**mark(), "takes_down": 1}},
    ],
    ids=lambda wrong: str(wrong)[-70:],
)
def test_a_malformed_note_is_none_and_harms_no_other_one(wrong):
    for said in (wrong, [wrong, note("web-1")]):
        found = judged({**lock_host(), "notes": said}, lock_host(note("web-1")), lock_host(), now=1000.0)
        assert [one["host"] for one in found.notes] == ["web-1"]
        assert found.held


def test_nothing_but_the_note_is_taken():
    odd = {**note("web-0", mark={**mark(), "more": 1}), "by": ["k7"], "lacking": 7, "heard_before_reading": True}
    (found,) = judged(lock_host(odd), now=1000.0).notes
    assert found == {**note("web-0", mark=mark()), "by": ["k0"], "lacking": []}


def test_a_flood_of_notes_of_one_lock_host_hides_none_of_the_others():
    flood = [{**note("web-0"), "at": 10**9 + number} for number in range(5000)]
    found = judged(lock_host(*flood), lock_host(note("web-0")), lock_host(note("web-0")), now=1000.0).notes
    assert len(found) == 21
    assert [one["by"] for one in found if one["at"] == 7.5] == [["k1", "k2"]]


# A lock host that refuses what a majority grants.


def test_one_lock_host_that_refuses_outweighs_two_that_grant_for_90_seconds():
    before = {}
    for now, held in [(0, False), (30, False), (89, False), (90, False), (91, True), (200, True)]:
        found = judged(NEW, NEW, BUSY, now=now, refused_before=before)
        assert (found.held, found.refused_by, found.outvoted) == (held, () if held else ("k2",), "k2" if held else "")
        before = found.refusals
    assert before == {"k2": {"since": 0, "last": 200}}


@pytest.mark.parametrize("do", ["take", "renew"])
def test_who_refuses_and_who_is_outvoted_is_said(do):
    grants = RENEWED if do == "renew" else NEW
    refused = judged(grants, grants, BUSY, do=do, group="set-web", now=0.0)
    assert "2 of 3 lock hosts hold it for this run and it takes 2 (k0: held, k1: held, k2: busy)" in refused.msg
    assert "but k2 refuses it. k2 says that it is held by run nightly of deploy@ctl1 (job 7)" in refused.msg
    begins = "This run has lost the lease of set-web" if do == "renew" else "The lease of set-web can't be had yet"
    assert refused.msg.startswith(begins)
    outvoted = judged(grants, grants, BUSY, do=do, group="set-web", now=1794787323.0, refused_before={"k2": OF_LATE})
    assert outvoted.held
    assert "k2 refuses the lease of set-web without reason since 2026-11-16T00:00:32Z" in outvoted.msg
    assert "Look at that host. It says that the lease is held by run nightly" in outvoted.msg


OF_LATE = {"since": 1794787232.0, "last": 1794787300.0}


@pytest.mark.parametrize(
    "between",
    [
        ([NEW, NEW, NEW], 80),  # it grants
        ([NEW, NEW, FREE], 80),  # it does not refuse
        ([NEW, NEW, AWAY], 80),
        ([NEW, BUSY, BUSY], 80),  # there was no majority for more than a minute
        ([NEW, BUSY, NEW], 80),  # another one refuses
        ([NEW, NEW, BUSY], 400),  # long ago
        ([NEW, NEW, BUSY], -80),  # the clock was set
    ],
    ids=str,
)
def test_a_refusal_counts_from_the_last_time_that_it_was_none(between):
    each, now = between
    before = judged(NEW, NEW, BUSY, now=0.0).refusals
    after = judged(*each, now=float(now), refused_before=before).refusals
    found = judged(NEW, NEW, BUSY, now=now + 60.0, refused_before=after)
    assert not found.held
    assert found.refusals["k2"]["since"] >= max(now, 0) or now < 0


def test_a_race_for_a_moment_does_not_count_as_a_pause():
    before = judged(NEW, NEW, BUSY, now=0.0).refusals
    before = judged(NEW, BUSY, BUSY, now=50.0, refused_before=before).refusals
    assert before == {"k2": {"since": 0.0, "last": 0.0}}
    assert not judged(NEW, BUSY, BUSY, now=55.0, refused_before=before).held
    assert judged(NEW, NEW, BUSY, now=91.0, refused_before=before).outvoted == "k2"


def test_two_that_refuse_are_never_outvoted():
    before = {}
    for now in range(0, 1000, 50):
        found = judged(NEW, NEW, NEW, BUSY, BUSY, now=now, refused_before=before)
        assert (found.held, found.refused_by) == (False, ("k3", "k4"))
        before = found.refusals
    # Counted from when it was alone.
    assert not judged(NEW, NEW, NEW, NEW, BUSY, now=1000, refused_before=before).held


def test_without_a_time_nobody_is_outvoted():
    assert not judged(NEW, NEW, BUSY, refused_before={"k2": {"since": 0.0, "last": 1e9}}).held


def test_a_lock_host_whose_file_is_new_refuses_nothing_and_says_so():
    new = {**FREE, "too_new_for": 36.2}
    assert judged(NEW, NEW, new).held
    found = judged(NEW, new, AWAY)
    assert not found.held
    assert "k1: its lock file is new; it grants nothing for 37 s more" in found.msg
    assert found.unread_lock_hosts == ("k2",)


def test_a_lock_host_speaks_for_its_own_group_only():
    answer = {**NEW, "notes": [note("web-0"), note("db-0"), {"host": ["web-0"]}, {}]}
    found = verdict("web", ["k0"], {"k0": answer}, "take", hosts={"web-0", "web-1"})
    assert list(map(untagged, found.notes)) == [note("web-0")]


def test_no_lock_host_is_no_lease():
    with pytest.raises(ValueError, match="no lock host"):
        verdict("", [], {}, "take")


def test_words_of_a_host_are_shown_as_letters_only():
    found = judged(
        {**BUSY, "holder": {**OTHER_HOLDER, "user": "\x1b[2J"}}, {"msg": "\x1b[2J\n"}, do="take", group="\x1b"
    )
    assert "\x1b" not in found.msg + found.holder


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = (
    *("held", "renewed", "changed", "holder", "took_over_from", "notes", "failed", "unreachable", "msg"),
    *("remembers", "too_new_for"),
)
ANSWER = st.one_of(
    ANYTHING,
    st.dictionaries(st.sampled_from(KEYS), ANYTHING | st.booleans()),
    st.fixed_dictionaries(
        {}, optional={"holder": st.dictionaries(st.sampled_from(sorted(OTHER_HOLDER)), ANYTHING)}
    ).map(lambda more: {**BUSY, **more}),
    st.sampled_from([NEW, RENEWED, BUSY, FREE, AWAY, BROKEN, FAILED]),
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ANSWER, min_size=1, max_size=5), st.sampled_from(["take", "renew", "release", "read"]))
def test_an_answer_of_any_shape_is_never_taken_for_a_yes(each, do):
    found = judged(*each, do=do)
    yes = [
        answer
        for answer in each
        if isinstance(answer, dict)
        and answer.get("held") is True
        and not answer.get("failed")
        and not answer.get("unreachable")
        and (do != "renew" or answer.get("renewed") is True)
    ]
    assert found.held == (do in ("take", "renew") and 2 * len(yes) > len(each) and not found.refused_by)
    assert not found.refused_by or 2 * len(yes) > len(each)
    for name in found.refused_by:
        assert each[int(name[1:])]["held"] is False
        assert isinstance(each[int(name[1:])]["holder"], dict)
    assert found.msg.isprintable()
    json.dumps(dataclasses.asdict(found))
    assert judged(*each, do=do, now=1000.0, refused_before={"k0": OF_LATE}).notes is not None
