# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a list of steps is right, and what is left to do of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._host.journal import begun, recorded
from ansible_collections.maintenance.azure.plugins.module_utils._steps.kind import KINDS, Kind
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.kinds import (
    ONE_OF,
    SPECS,
    Step,
    fixed_waits,
    identity_of,
    in_short,
    leaves_nothing,
    numbered,
    place_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import (
    HALVES,
    OURS,
    BadSteps,
    Folders,
    checked_health,
    checked_steps,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.work import (
    TodaysList,
    end_of_time,
    nearest_deadline,
    work_to_drain,
    work_to_restore,
)
from hypothesis import given
from hypothesis import strategies as st

HAPROXY = {"backend": "web", "server": "web-1"}


def only(item, own=None, events=()):
    return checked_steps([item], own or {}, events)[0]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_kind_says_all_that_there_is_to_it(name):
    kind = KINDS[name]
    # Alone in its file, which has its name.
    assert [one for one in KINDS.values() if one.__module__ == kind.__module__] == [kind]
    assert kind.__module__.rpartition("_steps.kind_")[2] == name.rpartition(".")[2]
    group, _dot, variant = name.partition(".")
    assert group in SPECS
    assert not variant or variant in ONE_OF[group]
    named = [*kind.some_of, *kind.acts_on, *kind.known_by, *(kind.undone_by or ()), *kind.commands]
    assert set(named + ["host"] * kind.has_host) <= set(kind.options)
    # By what a step is known again: by what it acts on, or by what it is given to run. Only a log is known by its kind.
    assert bool(kind.acts_on) != bool(kind.known_by) or name == "log"
    halves = [getattr(kind, half).__func__ is not getattr(Kind, half).__func__ for half in ("drain", "restore")]
    if kind.by_tasks:
        assert halves == [False, False]
        folders = [OURS / name]
    else:
        assert halves == [True, kind.undone_by != ()]
        folders = []
    folders += [OURS / "windows" / kind.on_windows] if kind.on_windows else []
    assert [folder for folder in folders for half in HALVES if not (folder / half).is_file()] == []


@pytest.mark.parametrize("machine", [None, "other"])
@pytest.mark.parametrize("half", ["drain", "restore"])
@pytest.mark.parametrize("kind", sorted(SPECS))
def test_every_kind_has_its_tasks(kind, half, machine):
    arguments = {"host": machine or "web", **({"haproxy": {"host": machine}} if kind == "load_balancer" else {})}
    folders = Folders({}, OURS, "web")
    placed = {"drain": folders.placed_to_drain, "restore": folders.placed_to_restore}[half](kind, arguments)
    files = {placed[name] for name in ("file", "tasks", "from_record") if placed.get(name)}
    assert [file for file in files if not Path(file).is_file()] == []
    assert (placed["from_record"] is not None) == (kind == "kubernetes" or (kind == "load_balancer" and bool(machine)))


def test_every_task_file_is_of_use():
    """One that no kind names any more, and that no other file includes, was forgotten."""
    folders = Folders({}, OURS, "web")
    named = {"main.yml", "finish.yml", "look.yml"}
    for kind in SPECS:
        for arguments in ({"host": "web"}, {"host": "x", "haproxy": {"host": "x"}}):
            for placed in (folders.placed_to_drain(kind, arguments), folders.placed_to_restore(kind, arguments)):
                named |= {Path(placed[name]).name for name in ("file", "tasks", "from_record") if placed.get(name)}
    for check in ("uri", "command", "port", "service"):
        named |= {Path(path).name for path in folders.health_on_windows({check: "x"}).values()}
    files = sorted(OURS.rglob("*.yml"))
    named |= {word for file in files for word in re.findall(r"include_tasks: .*?(\w+\.yml)", file.read_text("utf-8"))}
    assert {file.name for file in files} == named


def test_defaults_are_filled_in_and_types_converted():
    step = only({"connections": {"ports": ["443"]}})
    assert step == Step("connections", {"ports": [443], "at_most": 0, "timeout": 60, "on_timeout": "fail"})


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        ("services", "a step is one key"),
        ({}, "a step is one key"),
        ({"log": {"message": "x"}, "services": {}}, "the keys log, services"),
        ({"sevrices": {}}, "there is no kind sevrices. The kinds are checkpoint, .*tasks"),
        ({"services": ["nginx"]}, "services takes arguments by name"),
        ({"services": None}, "missing required arguments: names"),
        ({"services": {"names": []}}, "names is empty"),
        ({"services": {"names": ["a"], "timout": 3}}, "there is no argument timout"),
        ({"services": {"names": ["a"], "timeout": 0}}, "timeout must be at least 1 second"),
        ({"connections": {"ports": [70000]}}, "70000 is not a port"),
        ({"connections": {"ports": ["http"]}}, "ports"),
        ({"load_balancer": {}}, "exactly one of haproxy, nginx, probe_file"),
        ({"load_balancer": {"haproxy": HAPROXY, "nginx": {"upstream_file": "/x", "server": "x"}}}, "exactly one of"),
        (
            {"load_balancer": {"haproxy": {**HAPROXY, "server": "x; shutdown sessions"}}},
            "can't be the name of a server",
        ),
        ({"load_balancer": {"haproxy": {**HAPROXY, "backend": "web; disable server web/web1"}}}, "name of a backend"),
        ({"load_balancer": {"haproxy": {**HAPROXY, "backend": "web\nshow info"}}}, "name of a backend"),
        ({"load_balancer": {"haproxy": {**HAPROXY, "socket": "admin.sock"}}}, "socket must be an absolute path"),
        ({"load_balancer": {"nginx": {"upstream_file": "/x", "server": "a; include /etc"}}}, "a server in nginx"),
        ({"load_balancer": {"nginx": {"upstream_file": "/x\n", "server": "a"}}}, "upstream_file must be an absolute"),
        ({"load_balancer": {"probe_file": {"path": "healthy"}}}, "path must be an absolute path"),
        ({"services": {"names": ["--root=/tmp"]}}, "a unit of systemd"),
        ({"services": {"names": ["a b"]}}, "a unit of systemd"),
        ({"failover": {"patroni": {"url": "file:///etc/passwd"}}}, "not an http or https address"),
        ({"log": {"message": "x", "webhook": {"url": "http://x/ HTTP/1.1"}}}, "not an http or https address"),
        (
            {"log": {"message": "x", "webhook": {"url": "http://x/", "headers": {"A": "b\r\nHost: c"}}}},
            "a header of HTTP",
        ),
        ({"kubernetes": {"node": "../pods"}}, "name of a node"),
        ({"load_balancer": {"haproxy": {**HAPROXY, "sokcet": "x"}}}, "there is no argument .*sokcet"),
        ({"failover": {}}, "exactly one of command, patroni"),
        ({"command": {}}, "at least one of drain, restore"),
        ({"command": {"drain": ""}}, "command: drain is empty"),
        ({"command": {"drain": {"a": 1}}}, "a command line or a list of words"),
        ({"command": {"drain": []}}, "a command line or a list of words"),
        ({"tasks": {}}, "at least one of drain, restore"),
    ],
)
def test_mistakes_are_named(item, complaint):
    with pytest.raises(BadSteps, match=rf"drain_steps, step 2: .*{complaint}"):
        checked_steps([{"log": {"message": "x"}}, item], {})


@pytest.mark.parametrize("items", ["log", {"log": {}}, None, 3])
def test_steps_are_a_list(items):
    with pytest.raises(BadSteps, match="must be a list of steps"):
        checked_steps(items, {})


def test_own_kinds_take_what_they_say_and_go_before_ours():
    assert only({"ring": {"a": 1}}, {"ring": None}).arguments == {"a": 1}
    spec = {"a": {"type": "int", "default": 5}}
    assert only({"ring": {}}, {"ring": spec}).arguments == {"a": 5}
    assert only({"log": {"a": "1"}}, {"log": spec}).arguments == {"a": 1}
    with pytest.raises(BadSteps, match="there is no argument b"):
        only({"ring": {"b": 1}}, {"ring": spec})
    with pytest.raises(BadSteps, match="log, ring, services"):
        only({"rnig": {}}, {"ring": None})


EVENT = {"description": "Host; rm -rf /", "type": "Reboot", "id": "A-1", "resources": ["web 1"], "seconds_left": 3}


@pytest.mark.parametrize("text", [EVENT["description"], EVENT["resources"][0]])
def test_text_of_azure_is_one_word_or_none(text):
    with pytest.raises(BadSteps, match=r"comes from Azure.* Give the command as a list"):
        only({"command": {"drain": f"say {text}"}}, events=[EVENT])
    assert only({"command": {"drain": ["say", text]}}, events=[EVENT])
    assert only({"command": {"drain": "say Reboot A-1"}}, events=[EVENT])


def test_health_checks():
    checks = checked_health([{"uri": {"url": "http://x/"}}, {"port": "80"}, {"service": "nginx", "timeout": 5}])
    assert [check["timeout"] for check in checks] == [60, 60, 5]
    assert checks[0]["uri"]["status_code"] == [200]
    for bad, complaint in (
        ({}, "exactly one of uri, command, port, service"),
        ({"port": 1, "service": "x"}, "exactly one of"),
        ({"prot": 1}, "there is no argument prot"),
        ({"port": 0}, "0 is not a port"),
        ({"service": "-H root@elsewhere"}, "a unit of systemd"),
        ({"uri": {"url": "http://x/", "method": "GET /"}}, "a method of HTTP"),
        ("x", "expected one of"),
        ({"port": 1, "interval": 0}, "at least 1 second"),
    ):
        with pytest.raises(BadSteps, match=f"restore_health, check 1: .*{complaint}"):
            checked_health([bad])


def test_where_a_step_is_done():
    assert place_of("load_balancer", {"haproxy": {**HAPROXY, "host": "lb1"}}, "web") == "lb1"
    assert place_of("load_balancer", {"haproxy": {**HAPROXY, "host": "web"}}, "web") is None
    assert place_of("load_balancer", {"probe_file": {"path": "/x"}}, "web") is None
    assert place_of("services", {"names": ["x"]}, "web") is None


def test_waits_that_are_known_beforehand():
    assert fixed_waits([Step("load_balancer", {"probe_file": {"wait": 30}}), Step("services", {})]) == 30


def test_own_folders(tmp_path):
    for kind in ("ring", "log"):
        (tmp_path / "kinds" / kind).mkdir(parents=True)
        (tmp_path / "kinds" / kind / "drain.yml").touch()
    (tmp_path / "kinds" / "notes").mkdir()
    folders = Folders.found(["kinds"], str(tmp_path), "web")
    assert set(folders.own) == {"ring", "log"}
    assert folders.placed_to_drain("ring", {})["tasks"] == str(tmp_path / "kinds" / "ring" / "drain.yml")
    assert folders.placed_to_drain("services", {})["file"].endswith("steps/tasks/drain/on_the_host.yml")
    elsewhere = folders.placed_to_drain("load_balancer", {"haproxy": {"host": "lb1"}})
    assert (elsewhere["file"].endswith("drain/elsewhere.yml"), elsewhere["host"]) == (True, "lb1")
    with pytest.raises(BadSteps, match=r"there is no file .*restore\.yml"):
        folders.placed_to_restore("ring", {})
    with pytest.raises(BadSteps, match="no such kind here"):
        folders.placed_to_restore("gone", {})
    with pytest.raises(BadSteps, match="there is no directory"):
        Folders.found(["nowhere"], str(tmp_path), "web")


def placed(kind, _arguments):
    return {"file": f"{kind}.yml", "host": None, "by_tasks": kind == "tasks", "own_kind": kind == "ring"}


def known_as(kind, arguments):
    return identity_of(kind, arguments, "web-0", kind == "ring")


def known(steps):
    return list(zip(steps, numbered(known_as(step.kind, step.arguments) for step in steps), strict=True))


def from_journal(record):
    """What was done on the host itself may be undone from the journal."""
    elsewhere = place_of(record["kind"], record["arguments"], "web-0")
    return None if elsewhere or record["kind"] in ("tasks", "ring") else Step(record["kind"], record["arguments"])


def todays(*steps):
    return TodaysList(lambda _event: known(steps), known_as, from_journal, placed, placed)


def drain_work(steps, journal):
    work, left_over = work_to_drain(known(steps), journal, todays(*steps))
    assert left_over == []
    return work


def restore_work(journal, steps, health=False):
    return work_to_restore(journal, todays(*steps), health)


def journal_with(*records, state="draining"):
    data = begun(None, [], "r", "b", "t")
    recorded(data, [{"before": {}, **record} for record in records], "t")
    return {**data, "state": state}


COMMAND = Step("command", {"drain": "a", "restore": "b"})
TASKS = Step("tasks", {"drain": "x.yml", "restore": "y.yml"})
LOG = Step("log", {"message": "x"})


def record(number, step, status="done"):
    return {"number": number, "kind": step.kind, "arguments": step.arguments, "status": status}


def test_a_new_drain_does_all():
    work = drain_work([LOG, TASKS, COMMAND], journal_with())
    assert [(item["number"], item["finished"], item["final"]) for item in work] == [
        (1, [], None),
        (2, [], None),
        (3, [2], "drained"),
    ]


def test_what_is_done_is_left_out_and_what_left_nothing_is_forgotten():
    journal = journal_with(record(1, LOG), record(2, COMMAND, "failed"))
    work = drain_work([TASKS, COMMAND], journal)
    assert [(item["kind"], item.get("number"), item["finished"]) for item in work] == [
        ("journal", None, [1]),
        ("tasks", 1, []),
        ("command", 2, [1]),
    ]


def test_two_equal_steps_are_two():
    work = drain_work([LOG, LOG], journal_with(record(1, LOG)))
    assert [item["number"] for item in work] == [2]


def test_tasks_at_the_end_need_a_last_write():
    work = drain_work([TASKS], journal_with())
    assert [(item["kind"], item["finished"], item["final"]) for item in work] == [
        ("tasks", [], None),
        ("journal", [1], "drained"),
    ]
    assert work[-1]["file"] == "drain/finish.yml"


def test_nothing_to_do():
    assert [item["kind"] for item in drain_work([], journal_with())] == ["journal"]
    assert drain_work([LOG], journal_with(record(1, LOG), state="drained")) == []


def test_restore_goes_backwards_and_skips_what_has_nothing_to_undo():
    journal = journal_with(
        record(1, LOG), record(2, COMMAND), record(3, TASKS, "started"), record(4, COMMAND, "undone")
    )
    work, left_over = restore_work(journal, [LOG, COMMAND, TASKS, COMMAND])
    assert left_over == []
    assert [(item["number"], item["finished"], item["final"]) for item in work] == [(3, [], None), (2, [1], "closed")]
    with_health, _left_over = restore_work(journal, [LOG, COMMAND, TASKS, COMMAND], health=True)
    assert [(item["kind"], item["final"]) for item in with_health][-1] == ("journal", "closed")
    assert with_health[-1]["finished"] == [1]


def test_positions_count_what_is_left():
    """A host with less to do must not have items that another has later in its list."""
    journal = journal_with(record(1, LOG), record(2, COMMAND))
    assert [item["position"] for item in drain_work([LOG, COMMAND, TASKS], journal)] == [0, 1]
    assert [item["position"] for item in restore_work(journal, [LOG, COMMAND], health=True)[0]] == [0, 1]


def balancer(**more):
    return Step(
        "load_balancer", {"haproxy": {"backend": "web", "server": "web-0", "host": "lb1", "timeout": 60, **more}}
    )


def test_a_step_is_known_again_by_what_it_acts_on():
    journal = journal_with(record(1, balancer()))
    work, left_over = restore_work(journal, [LOG, balancer(timeout=5, socket="/other.sock")])
    assert left_over == []
    # What is done comes from the user's step.
    assert (work[0]["number"], work[0]["arguments"]["haproxy"]["timeout"]) == (1, 5)


@pytest.mark.parametrize(
    "now",
    [
        [],
        [balancer(server="web-1")],
        [balancer(backend="api")],
        [balancer(host="lb2")],
        [balancer(host=None)],
        [balancer(host="web-0")],
    ],
)
def test_a_action_on_another_machine_is_never_undone_from_the_journal(now):
    journal = journal_with(record(1, balancer()))
    work, left_over = restore_work(journal, now)
    assert [step["number"] for step in left_over] == [1]
    assert in_short(left_over[0]["acts_on"]) == "load_balancer.haproxy web web-0 on lb1"
    assert [(item["kind"], item["final"]) for item in work] == [("journal", "left")]


def test_steps_are_resolved_for_the_event_that_the_journal_kept():
    journal = journal_with(record(1, COMMAND), record(2, TASKS))
    journal["events"] = [{"id": "A"}, {"id": "B"}]
    journal["steps"][0]["event"], journal["steps"][1]["event"] = "B", "A"
    asked = []

    def steps_for(event):
        asked.append(event["id"])
        return known([COMMAND, TASKS])

    work, _left_over = work_to_restore(
        journal, TodaysList(steps_for, known_as, lambda _record: None, placed, placed), False
    )
    assert asked == ["B", "A"]
    assert [item.get("event") for item in work] == [{"id": "A"}, {"id": "B"}]


@pytest.mark.parametrize(
    ("kind", "arguments", "nothing"),
    [
        ("connections", {}, True),
        ("log", {"message": "x"}, True),
        ("log", {"restore_message": "x"}, False),
        ("command", {"drain": "x"}, True),
        ("failover", {"patroni": {"switch_back": True}}, False),
        ("failover", {"command": "x"}, True),
        ("services", {"names": ["x"]}, False),
        ("load_balancer", {"haproxy": {}}, False),
        ("kubernetes", {"node": "x"}, False),
    ],
)
def test_what_leaves_nothing(kind, arguments, nothing):
    assert leaves_nothing(kind, arguments) is nothing


def test_the_nearest_deadline_bounds_the_drain():
    events = [{"not_before": None}, {"not_before": "1970-01-01T00:02:00Z"}, {"not_before": "1970-01-01T00:01:00Z"}]
    assert nearest_deadline(events) == 60
    assert nearest_deadline([{"not_before": None}]) is None
    assert end_of_time(10, 600, 5, 60) == 55
    assert end_of_time(10, 20, 5, 60) == 30
    assert end_of_time(10, 20, 5, None) == 30


STEPS = st.lists(st.sampled_from([LOG, COMMAND, TASKS, Step("services", {"names": ["a"]})]), max_size=8)


@given(STEPS, STEPS, st.integers(0, 8))
def test_a_restore_undoes_each_step_once_whatever_was_interrupted(first, second, stop):
    """Drain some, be stopped, drain another list, restore with that: every step of the journal is undone exactly once.

    What only the first list had is undone first where it was done on the host itself, and else told.
    """
    journal = journal_with()
    for steps, count in ((first, stop), (second, None)):
        journal = {**begun(journal, [], "r", "b", "t"), "state": "draining"}
        work, stuck = work_to_drain(known(steps), journal, todays(*steps))
        for item in [] if stuck else work[:count]:
            status = "undone" if item.get("direction") == "restore" else "done"
            records = [{"number": number, "status": status} for number in item["finished"]]
            if "number" in item:
                records.append({**item, "before": {}, "status": "started"})
                records += [] if item["by_tasks"] and status == "done" else [{**item, "status": status}]
            recorded(journal, records, "t")
    journal = begun(journal, [], "r", "b", "t")
    if not stuck:
        done = [Step(step["kind"], step["arguments"]) for step in journal["steps"] if step["kind"] != "tasks"]
        assert [step for step in done if step != LOG] == [step for step in second if step not in (LOG, TASKS)]
    undone = []
    work, left_over = restore_work(journal, second)
    for item in work:
        undone += [*item["finished"], *([item["number"]] if "number" in item else [])]
    told = [step["number"] for step in left_over]
    assert sorted(undone + told) == [step["number"] for step in journal["steps"]]
    assert {_named(journal, number)[0] for number in told} <= {"tasks"}
    assert (work[-1]["final"] == "closed") is (not told)
    real = [number for number in undone if not leaves_nothing(*_named(journal, number))]
    assert real == sorted(real, reverse=True)


def _named(journal, number):
    step = next(one for one in journal["steps"] if one["number"] == number)
    return step["kind"], step["arguments"]


def test_the_guide_names_every_kind_and_argument():
    guide = (OURS.parents[2] / "docs" / "drain-steps.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[a-z_]+", guide))
    for kind, spec in SPECS.items():
        names = {kind, *spec}
        for option in spec.values():
            names |= set(option.get("options", ()))
        assert names - words == set(), kind


def command(word, back=None):
    return Step("command", {"drain": [word], "restore": [back or f"no {word}"]})


A, B, C = command("a"), command("b"), command("c")
SAY = Step("log", {"message": "so far"})
ONCE = Step("command", {"drain": ["once"]})
THERE = balancer()
RING = Step("ring", {"path": "/a"})
FILE = Step("load_balancer", {"probe_file": {"path": "/x"}})


def journal_of(*steps, **more):
    records = [{**record(number, step), "before": {"n": number}} for number, step in enumerate(steps, start=1)]
    return {"steps": records, "events": [], "state": "drained", **more}


@pytest.mark.parametrize(
    ("done", "today", "undone"),
    [
        pytest.param([A, B, C], [A, B, C], [], id="the same"),
        pytest.param([A, B], [A, B, C], [], id="not yet done"),
        pytest.param([A, B, C], [A, C], [(3, C), (2, B)], id="one removed"),
        pytest.param([A, B], [], [(2, B), (1, A)], id="all removed"),
        pytest.param([A, B, C], [A, C, B], [(3, C), (2, B)], id="reordered"),
        pytest.param([A, B], [C, A, B], [(2, B), (1, A)], id="one before them"),
        pytest.param([A, C], [A, B, C], [(2, C)], id="one between them"),
        pytest.param([A, C], [A, THERE, C], [(2, C)], id="one elsewhere between them"),
        pytest.param([A, B], [A, command("b", "another")], [], id="another way back"),
        pytest.param([A, B], [A, C], [(2, C)], id="corrected"),
        pytest.param([A, B], [command("x"), B], [(2, B), (1, command("x"))], id="the first one corrected"),
        pytest.param([A, B], [B], [(2, B), (1, A)], id="in its place is one of the same list"),
        pytest.param([A], [FILE], [(1, A)], id="in its place is another kind"),
        pytest.param([FILE], [Step("load_balancer", {"probe_file": {"path": "/y"}})], [(1, FILE)], id="another target"),
        pytest.param(
            [RING, A], [Step("ring", {"path": "/b"}), A], [(2, A), (1, Step("ring", {"path": "/b"}))], id="own"
        ),
        pytest.param([TASKS], [Step("tasks", {"drain": "z.yml", "restore": "y.yml"})], "tasks", id="tasks"),
        pytest.param([THERE, A], [A], [], id="nobody can undo the first"),
        pytest.param([balancer(timeout=5)], [balancer(timeout=90)], [], id="another timeout"),
        pytest.param([SAY, A], [Step("log", {"message": "another"}), A], [], id="another message"),
        pytest.param([SAY, A, ONCE], [A], [], id="what left nothing is removed"),
        pytest.param([A, SAY, B], [B], [(3, B), (1, A)], id="what left nothing goes with the others"),
    ],
)
def test_what_an_earlier_list_has_left_is_undone_first(done, today, undone):
    """The last step first, by today's step of the same kind in the same place, and else as it was done."""
    undone = [(1, today[0])] if undone == "tasks" else undone
    work = drain_work(today, journal_of(*done))
    first = [item for item in work if item.get("direction") == "restore" and item["kind"] != "journal"]
    assert [(item["number"], Step(item["kind"], item["arguments"])) for item in first] == undone
    assert [item["before"] for item in first] == [{"n": number} for number, _step in undone]
    # What was undone is drained anew by today's list, in its order and with a look of its own.
    left = [item for item in work if "direction" not in item and "number" in item]
    kept = [one["number"] for one in journal_of(*done)["steps"] if one["number"] not in dict(undone)]
    assert [item["before"] for item in left] == [None] * len(left)
    assert not {item["number"] for item in left} & set(kept)
    assert [item["number"] for item in left] == sorted(item["number"] for item in left)


def test_a_host_that_drained_itself_leaves_out_what_others_do():
    journal = journal_of(A, C)
    journal["steps"][1]["number"] = 3
    assert [item["number"] for item in drain_work([A, THERE, C], journal)] == [2]


@pytest.mark.parametrize("status", ["started", "failed"])
def test_what_was_begun_and_nobody_can_undo_keeps_a_host_from_being_drained(status):
    journal = journal_of(THERE, A)
    journal["steps"][0]["status"] = status
    _work, left_over = work_to_drain(known([B]), journal, todays(B))
    assert [one["number"] for one in left_over] == [1]


def test_where_an_approval_may_have_been_sent_what_is_drained_stays_so():
    journal = journal_of(A, B, marks=[{"event": "A1", "at": 0}])
    assert [(item["number"], item.get("direction")) for item in drain_work([C, B], journal)] == [(3, None)]


def test_what_is_known_to_have_changed_nothing_is_dropped():
    journal = journal_with(record(1, A, "failed"), record(2, RING, "failed"))
    assert [one["changed_nothing"] for one in journal["steps"]] == [True, True]
    assert [item["kind"] for item in restore_work(journal, [B])[0]] == ["journal"]
    assert [item.get("direction") for item in drain_work([B], journal)] == [None]


@pytest.mark.parametrize("status", ["started", "done"])
def test_a_return_takes_todays_step_in_the_same_place_and_else_what_the_journal_holds(status):
    journal = journal_of(A, B, C)
    for one in journal["steps"]:
        one["status"] = status
    work, left_over = restore_work(journal, [command("x"), SAY, ONCE])
    assert left_over == []
    assert [(item["number"], Step(item["kind"], item["arguments"])) for item in work] == [
        (3, C),
        (2, B),
        (1, command("x")),
    ]
