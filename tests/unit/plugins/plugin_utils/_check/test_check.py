# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a check: each finding, what steps need, and what is known of hosts and the controller."""

from __future__ import annotations

import email.utils
import json
from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.maintenance.azure.plugins.module_utils._azure.imds import API_VERSIONS
from ansible_collections.maintenance.azure.plugins.module_utils._host.run_mark import is_watcher, owner_name
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.facts import ALL_FACTS, never_looked_at
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.fleet import (
    NOBODY_ASKED,
    SILENT_AFTER,
    _not_looked_at,
    about_journal,
    about_policy,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.rehearsal import RehearsalSettings, rehearse
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.report import (
    Finding,
    Scrubber,
    Way,
    about_way,
    bad,
    doubtful,
    good,
    lines_of,
    make_check_report,
    secret_leaves,
    used_names,
    worst,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.service import (
    Answers,
    about_answer,
    about_clock_of_host,
    about_clock_of_service,
    about_name,
    about_versions,
    events,
    offset_of_host,
    offset_of_service,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._check.steps import (
    about_modules,
    about_needs,
    first_word,
    look_into,
    used_by,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._plan.plan import read_policy, ruling_on
from ansible_collections.maintenance.azure.plugins.plugin_utils._steps.validate import OURS, BadSteps
from helpers.default_policy import DEFAULT_POLICY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What could be seen of the facts on no host at all.


def result(*not_seen, asked=True):
    told = [{"fact": fact, "why": why} for fact, why in not_seen]
    return {"status": {"events": []}, "not_seen": told if asked else None}


def seen_nowhere(**hosts):
    told = _not_looked_at(hosts)
    assert told[-len(never_looked_at()) :] == never_looked_at()
    return [(one["fact"], one["why"]) for one in told[: -len(never_looked_at())]]


def test_what_one_host_has_shown_is_seen():
    assert seen_nowhere(a=result(("F", "no event"), ("G", "no event")), b=result(("G", "no event"))) == [
        ("G", "no event")
    ]
    assert seen_nowhere(a=result(("F", "no event")), b=result()) == []


def test_the_reasons_of_two_hosts_may_differ():
    assert seen_nowhere(a=result(("F", "no event")), b=result(("F", "no event names this VM now"))) in (
        [("F", "no event")],
        [("F", "no event names this VM now")],
    )


def test_a_host_whose_facts_were_not_asked_for_has_shown_none():
    """Such as one with Windows, or without Python; or one that could not be read."""
    others = {"windows": result(asked=False), "failed": {"msg": "x", "failed": True}, "lost": None}
    assert seen_nowhere(linux=result(("F", "no event")), **others) == [("F", "no event")]


def test_where_nobody_was_asked_none_is_seen():
    told = seen_nowhere(windows=result(asked=False))
    assert len(told) == len(ALL_FACTS)
    assert {why for _fact, why in told} == {NOBODY_ASKED}


# Collections that files of tasks use, and the files that those include.

ROLE_PATH = "{{ role_path }}"


def load(file):
    return yaml.safe_load(Path(file).read_text(encoding="utf-8"))


def resolve(name):
    if "{{ item }}" in name:
        raise AnsibleError("no item")
    return name.replace(ROLE_PATH, str(OURS.parent))


def looked(*files, folders=()):
    return look_into(files, folders, load, resolve)


def written(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.yml").write_text(text)
    return folder / f"{next(iter(files))}.yml"


def test_files_that_include_each_other_are_read_once(tmp_path):
    first = written(
        tmp_path, a="[{include_tasks: b.yml}, {no.such.one: }]", b="[{import_tasks: a.yml}, {no.such.two: }]"
    )
    assert looked(first).missing == {"no.such.one", "no.such.two"}


def test_what_is_not_beside_it_is_looked_for_elsewhere(tmp_path):
    first = written(
        tmp_path, a="[{include_tasks: deep/b.yml}, {include_tasks: none.yml}, {include_tasks: '{{ item }}'}]"
    )
    (tmp_path / "else" / "deep").mkdir(parents=True)
    written(tmp_path / "else" / "deep", b="[{no.such.one: }]")
    found = looked(first, folders=[tmp_path / "else"])
    assert found.missing == {"no.such.one"}
    assert sorted(found.unknown) == ["none.yml in a.yml", "{{ item }} in a.yml"]


def test_roles_need_their_collections(tmp_path):
    roles = "[{include_role: {name: no.such.role}}, {include_role: {name: maintenance.azure.drain}}]"
    assert looked(written(tmp_path, a=roles)).missing == {"no.such.role"}


@pytest.mark.parametrize("kind", ["command", "failover", "log", "probe_file", "services", "connections"])
def test_what_is_done_on_windows_needs_its_collection_through_what_it_includes(kind):
    found = looked(OURS / "windows" / kind / "drain.yml")
    assert found.unknown == []
    # Outside of a run not even the builtin modules are found by these names.
    assert {name.rpartition(".")[0] for name in found.missing} - {"ansible.builtin"} == {"ansible.windows"}


def test_a_file_that_can_not_be_read(tmp_path):
    with pytest.raises(BadSteps, match=r"none\.yml can't be read"):
        looked(tmp_path / "none.yml")


# What is told of findings: the worst counts, one line a point, and no secrets.

FINE = good("way", "Python", "3.11")
ODD = doubtful("plan", "policy", "rule 2", "Look")
WRONG = bad("state", "journal", "left", "Run it")


@pytest.mark.parametrize(
    ("findings", "verdict"), [([], "good"), ([FINE], "good"), ([ODD, FINE], "doubtful"), ([FINE, WRONG, ODD], "bad")]
)
def test_the_worst_counts(findings, verdict):
    assert worst(findings) == verdict
    assert make_check_report({"a": findings}, [], [], Scrubber())["verdict"] == verdict
    assert make_check_report({}, findings, [], Scrubber())["verdict"] == verdict


def test_one_line_a_point_in_the_order_of_areas():
    report = make_check_report({"web-10": [ODD, FINE], "web-9": []}, [WRONG], [{"fact": "F", "why": "W"}], Scrubber())
    assert lines_of(report) == [
        "good     web-10, way: Python: 3.11",
        "doubtful web-10, plan: policy: rule 2. Look.",
        "bad      the fleet, state: journal: left. Run it.",
        "not looked at: F: W",
        "The fleet is not ready: 1 good, 1 doubtful, 1 bad.",
    ]
    assert list(report["hosts"]) == ["web-9", "web-10"]


def test_a_line_stays_one_line_whatever_a_host_says():
    nasty = bad("way", "reach", "a\nb\x1b[31mc\u2028d " + "x" * 2000, "Look")
    (line, _summary) = lines_of(make_check_report({"a": [nasty]}, [], [], Scrubber()))
    assert line.isprintable()
    assert len(line) < 700


def test_findings_travel_as_data():
    for finding in (FINE, ODD, Finding("facts", "F [D]", "good", "400", "", "400")):
        assert Finding.from_data(json.loads(json.dumps(finding.as_data()))) == finding


VARIABLES = {
    "ansible_password": "hunter2-a",
    "vault_of_db": "hunter2-b",
    "drain_steps": [
        {"failover": {"patroni": {"username": "boss", "password": "hunter2-c"}}},
        {"log": {"message": "hello", "webhook": {"url": "u", "headers": {"X-Key": "hunter2-d"}}}},
    ],
    "api_token": ["hunter2-e", {"deep": "hunter2-f"}],
    "AZURE_CLIENT_SECRET": 123456789,
    "harmless": "web-0",
}


def test_values_of_what_is_named_like_a_secret_are_hidden():
    scrubber = Scrubber(map(str, secret_leaves(VARIABLES)))
    text = "x".join(f" hunter2-{letter} " for letter in "abcdef") + "123456789 web-0 hello boss"
    clean = scrubber.without_secrets(text)
    assert "hunter2" not in clean
    assert "123456789" not in clean
    assert clean.endswith("web-0 hello boss")


@pytest.mark.parametrize("text", ["hunter2'\"\\x", "hunter2-line-1\nhunter2-line-2\n", " hunter2-spaces ", "hunter2-ä"])
def test_a_secret_is_hidden_however_it_is_written(text):
    scrubber = Scrubber([text])
    for written in (text, repr(text), json.dumps(text), json.dumps(text, ensure_ascii=False), " ".join(text.split())):
        assert "hunter2" not in scrubber.without_secrets(f"not {written}.")


def test_what_is_short_is_not_torn_out_of_words():
    assert Scrubber(["abc", "a\nb", ""]).without_secrets("abc a b") == "abc a b"


def test_what_is_used_is_found_through_templates():
    variables = {
        "drain_steps": [{"command": {"drain": ["leave", "{{ token_of_ring }}"]}}, {"{{ no_key }}": 1}],
        "token_of_ring": "{{ 'x' ~ vault.ring }}",
        "vault": {"ring": "{% if a %}{{ lookup('env', 'TOKEN') }}{% endif %}"},
        "a": "{{ drain_steps }}",
        "maintenance_hosts": "web",
        "web": "{{ not_used }}",
        "not_used": "x",
        "no_key": "x",
        "hostvars": {"other": "{{ not_used }}"},
        "restore_health": [{"uri": {"url": "{{ hostvars.other.secret }}"}}],
        "secret": "s",
    }
    assert used_names(variables) == {
        *("drain_steps", "token_of_ring", "vault", "a", "maintenance_hosts", "restore_health", "secret")
    }


def test_secrets_in_addresses_are_hidden():
    clean = Scrubber().without_secrets("http://me:pw@host/x?sig=abc%2Bdef&a=b failed")
    assert clean == "http://(hidden)@host/x?sig=(hidden)&a=b failed"


# What steps need: files of the right kind, programs by their names, and all that files of tasks use.


@pytest.mark.parametrize("wanted", ["socket", "file", "folder"])
@pytest.mark.parametrize("there", ["socket", "file", "folder", "other", "missing", "Permission denied"])
def test_a_path_is_good_only_if_it_is_what_the_step_needs(wanted, there):
    need = {"kind": "path", "name": "/run/haproxy/admin.sock", "wanted": wanted, "step": "step 1 (load_balancer)"}
    (found,) = about_needs([need], {"paths": {"/run/haproxy/admin.sock": there}}, "lb1")
    assert (found.verdict == "good") == (there == wanted)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pg_ctl stop -D /x", "pg_ctl"),
        (["/bin/leave", "--token", "hunter2"], "/bin/leave"),
        ("PGPASSWORD=hunter2 pg_dump", "PGPASSWORD=..."),
        (["PGPASSWORD=hunter2\nmore", "pg_dump"], "PGPASSWORD=..."),
        ("env PGPASSWORD=hunter2 pg_dump", "env"),
    ],
)
def test_of_a_command_only_the_program_is_told(command, shown):
    assert first_word(command) == shown


def test_an_assignment_is_no_program():
    need = {"kind": "command", "name": "PGPASSWORD=...", "wanted": "", "step": "step 1 (command)"}
    (found,) = about_needs([need], {"commands": {"PGPASSWORD=...": False}}, "the host")
    assert found.verdict == "bad"
    assert "env" in found.do


def test_what_tasks_use_is_found_wherever_it_stands():
    used = used_by(
        [
            {"name": "A", "a.b.one": {}},
            {"block": [{"a.b.two": None}], "rescue": [{"action": "a.b.three x=1"}]},
            {"always": [{"local_action": {"module": "a.b.four", "x": 1}}]},
            {"include_tasks": "more.yml"},
            {"ansible.builtin.import_tasks": {"file": "{{ role_path }}/x.yml"}, "when": "y"},
            {"ansible.builtin.include_role": {"name": "c.d.role"}},
            {"import_role": {"name": "local_role"}},
            {"command": "true", "register": "x"},
            "nonsense",
        ]
    )
    assert used.modules == {"a.b.one", "a.b.two", "a.b.three", "a.b.four"}
    assert used.files == {"more.yml", "{{ role_path }}/x.yml"}
    assert used.roles == {"c.d.role"}
    assert used_by(None) == used_by("x") == used_by([])


@pytest.mark.parametrize(
    ("missing", "unknown", "verdict"),
    [([], [], "good"), ([], ["{{ x }} in a.yml"], "doubtful"), (["a.b.c"], [], "bad"), (["a.b.c"], ["x"], "bad")],
)
def test_collections_that_could_not_be_looked_for_are_a_doubt(missing, unknown, verdict):
    found = about_modules(missing, unknown)
    assert found.verdict == verdict
    assert bool(found.do) == (verdict != "good")
    assert ("ansible-galaxy collection install a.b" in found.do) == bool(missing)


# Rules that never decide are found, and no others.

ALL_ELSE = {"action": "drain"}


def told(*policy):
    return [(finding.verdict, finding.seen) for finding in about_policy(list(policy))]


def test_the_policy_that_comes_along_is_good():
    assert told(*DEFAULT_POLICY) == [("good", "2 rules, and each can decide")]


@pytest.mark.parametrize(
    "policy",
    [
        [ALL_ELSE, {"type": "Freeze", "action": "approve"}],
        [{"type": ["Freeze", "Reboot"], "action": "drain"}, {"type": "Freeze", "shorter_than": 5, "action": "approve"}],
        [{"shorter_than": "10m", "action": "approve"}, {"shorter_than": 599, "action": "drain"}, ALL_ELSE],
        [{"description": "migration", "action": "ignore"}, {"description": "Live Migration", "action": "drain"}],
        [{"due_within": "1h", "action": "drain"}, {"due_after": "1h", "action": "ignore"}, ALL_ELSE],
        [{"source": ["User", "Platform"], "action": "drain"}, {"source": "user", "action": "approve"}],
    ],
)
def test_a_rule_that_others_leave_nothing_to_is_told(policy):
    found = [seen for verdict, seen in told(*policy) if verdict == "doubtful"]
    assert len(found) == 1
    assert found[0].startswith("rule ")
    assert "before it take" in found[0]


@pytest.mark.parametrize(
    "rule",
    [
        {"shorter_than": 5, "longer_than": 5},
        {"shorter_than": 5, "duration_known": False},
        {"due_within": 60, "due_after": "1m"},
        {"shorter_than": 0},
    ],
)
def test_a_rule_that_excludes_itself_is_told(rule):
    assert "its conditions exclude each other" in told({**rule, "action": "approve"}, ALL_ELSE)[0][1]


def test_a_rule_for_the_rest_of_what_another_takes_is_good():
    policy = [{"type": "Freeze", "shorter_than": 10, "action": "approve"}, {"type": "Freeze", "action": "drain"}]
    assert [verdict for verdict, _seen in told(*policy, ALL_ELSE)] == ["good"]


def test_a_type_that_is_not_known_is_doubtful():
    ((verdict, seen),) = told({"type": ["Freeze", "Reeboot"], "action": "drain"}, ALL_ELSE)
    assert verdict == "doubtful"
    assert "Reeboot" in seen


def test_a_policy_that_can_not_be_read_is_bad():
    ((verdict, seen),) = told({"typ": "Freeze", "action": "drain"})
    assert verdict == "bad"
    assert "typ" in seen


WORDS = st.sampled_from(["Freeze", "Reboot", "Preempt"])
RULES = st.fixed_dictionaries(
    {"action": st.sampled_from(["drain", "approve", "ignore"])},
    optional={
        "type": WORDS | st.lists(WORDS, min_size=1, max_size=2),
        "source": st.sampled_from(["User", "Platform"]),
        "shorter_than": st.integers(0, 4),
        "longer_than": st.integers(0, 4),
        "duration_known": st.booleans(),
        "description": st.sampled_from(["host", "the host server", "live"]),
        "due_within": st.integers(0, 4),
        "due_after": st.integers(0, 4),
    },
)
EVENTS = st.fixed_dictionaries(
    {
        "type": WORDS | st.just("Redeploy"),
        "source": st.sampled_from(["User", "Platform", None]),
        "duration_seconds": st.none() | st.integers(0, 6),
        "seconds_left": st.none() | st.integers(0, 6),
        "description": st.sampled_from(["", "host", "the host server", "live", "live the host server"]),
    }
)


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(RULES, min_size=1, max_size=4), st.lists(EVENTS, min_size=1, max_size=30))
def test_no_event_is_decided_by_a_rule_that_is_said_to_be_dead(policy, events):
    dead = {int(finding.seen.split()[1]) for finding in about_policy(policy) if "can never match" in finding.seen}
    rules = read_policy(policy)
    assert not dead & {ruling_on(event, rules)["rule"] for event in events}


# What a Reboot of every host would come to.

LATER = "2026-11-16T00:35:05Z"


def host(domain, **more):
    this_host = {"vm_name": "", "update_domain": domain, "zone": None}
    return {"maintenance_status": {"this_host": this_host, "events": [], "read_at": LATER}, **more}


def fleet(count, domains=2, **more):
    hosts = {f"web-{number}": host(str(number % domains), **more) for number in range(count)}
    for name, variables in hosts.items():
        variables["maintenance_status"]["this_host"]["vm_name"] = name
    return hosts


def rehearsed(variables, out=(), policy=DEFAULT_POLICY, **settings):
    by_host, found = rehearse(list(variables), variables, RehearsalSettings(policy, **settings), LATER, out)
    return by_host, {finding.point: finding for finding in found}


def test_each_host_is_told_its_wave_and_the_rule():
    by_host, found = rehearsed(fleet(4))
    assert {name: finding.verdict for name, finding in by_host.items()} == dict.fromkeys(fleet(4), "good")
    assert "it would be drained first, in wave 1 of 2 (rule 2 (all else" in by_host["web-0"].seen
    assert "in wave 2 of 2" in by_host["web-3"].seen
    assert found["a Reboot of every host"].seen == "2 waves, the largest of 2 of 4 hosts"


@pytest.mark.parametrize("action", ["approve", "ignore"])
def test_a_policy_that_does_not_drain_is_doubtful(action):
    by_host, _found = rehearsed(fleet(2), policy=[{"type": "Reboot", "action": action}])
    assert {finding.verdict for finding in by_host.values()} == {"doubtful"}


def test_a_host_whose_vm_the_inventory_does_not_confirm_is_told_by_itself():
    hosts = {**fleet(2), "10.0.0.4": host("0"), "app": host("0", maintenance_vm_name="app-1")}
    for name, vm in (("10.0.0.4", "web-9"), ("app", "web-8")):
        hosts[name]["maintenance_status"]["this_host"]["vm_name"] = vm
    by_host, found = rehearsed(hosts)
    assert {name for name, finding in by_host.items() if finding.verdict == "bad"} == {"10.0.0.4", "app"}
    assert "who is which VM" not in found


@pytest.mark.parametrize(
    ("name", "variables", "verdict", "words"),
    [
        ("web-9", {}, "good", "web-9"),
        ("web-9.example.com", {}, "good", "web-9"),
        ("10.0.0.4", {"maintenance_vm_name": "WEB-9"}, "good", "web-9"),
        ("10.0.0.4", {}, "bad", "web-9, which the inventory does not confirm"),
        ("web-9", {"maintenance_vm_name": "x"}, "bad", "web-9, and the inventory declares x"),
    ],
)
def test_the_name_of_a_vm(name, variables, verdict, words):
    found = about_name(name, variables, {"vm_name": "web-9"})
    assert (found.verdict, found.seen) == (verdict, words)
    assert bool(found.do) == (verdict == "bad")


def test_all_at_once_is_doubtful_and_can_be_split():
    assert rehearsed(fleet(3, domains=1))[1]["a Reboot of every host"].verdict == "doubtful"
    found = rehearsed(fleet(3, domains=1), max_at_once=1)[1]["a Reboot of every host"]
    assert (found.verdict, found.seen) == ("good", "3 waves, the largest of 1 of 3 hosts")


def test_without_a_domain_that_is_said():
    found = rehearsed({"a": {}, "b": {}})[1]["a Reboot of every host"]
    assert found.verdict == "doubtful"
    assert found.seen == "2 waves, the largest of 1 of 2 hosts, as no domain is known"


@pytest.mark.parametrize(
    ("least", "verdict"),
    [(None, "good"), ("", "good"), (1, "good"), (2, "good"), ("50%", "good"), (3, "bad"), ("75%", "bad")],
)
def test_who_stays_in_service_against_the_least(least, verdict):
    found = rehearsed(fleet(4), min_in_service=least)[1]["in service"]
    assert found.verdict == verdict
    assert "at least 2 of 4 hosts" in found.seen


def test_hosts_that_can_not_be_counted_on_are_doubtful():
    found = rehearsed(fleet(4), out=["web-0"], min_in_service=2)[1]["in service"]
    assert found.verdict == "doubtful"
    assert "web-0" in found.do


def test_each_service_by_itself():
    variables = fleet(4)
    for name in ("web-0", "web-2"):
        variables[name]["maintenance_service"] = "db"
    found = rehearsed(variables, min_in_service=1)[1]
    # Both hosts of db are in one domain.
    assert found["in service, of db"].verdict == "bad"
    assert found["in service"].verdict == "bad"
    assert rehearsed(fleet(4, maintenance_service="web"), min_in_service=1)[1]["in service, of web"].verdict == "good"


@pytest.mark.parametrize("settings", [{"min_in_service": "half"}, {"max_at_once": "some"}])
def test_a_setting_that_is_none_is_bad(settings):
    found = rehearsed(fleet(2), **settings)[1]
    assert "bad" in {finding.verdict for finding in found.values()}


# Clocks and api-versions, as answers show them.

NOW = 1_800_000_000.0


def heard(status=200, body="{}", date=NOW, at=NOW, seconds=0.1):
    headers = {} if date is None else {"date": email.utils.formatdate(date, usegmt=True)}
    return {"status": status, "headers": headers, "body": body, "problem": "", "at": at, "seconds": seconds}


@pytest.mark.parametrize(
    ("ahead", "verdict", "words"),
    [
        (0, "good", "as that of the controller"),
        (9, "good", "s ahead of"),
        (-9, "good", "s behind"),
        (14, "doubtful", "s ahead of"),
        (-3600, "doubtful", "s behind that of the controller"),
    ],
)
def test_the_clock_of_a_host(ahead, verdict, words):
    found = about_clock_of_host(offset_of_host(NOW + 1 + ahead, NOW, NOW + 2))
    assert found.verdict == verdict
    assert words in found.seen


def test_a_call_that_takes_long_does_not_make_a_clock_wrong():
    assert about_clock_of_host(offset_of_host(NOW + 40, NOW, NOW + 60)).seen == "as that of the controller"


@pytest.mark.parametrize(("ahead", "verdict"), [(0, "good"), (-1, "good"), (8, "good"), (30, "bad"), (-30, "bad")])
def test_the_clock_of_the_service_whatever_that_of_the_host(ahead, verdict):
    for host_ahead in (0, 500):
        host = offset_of_host(NOW + host_ahead, NOW, NOW + 0.2)
        answers = Answers({"any": heard(date=NOW + ahead, at=NOW + host_ahead)})
        assert about_clock_of_service(offset_of_service(answers, host)).verdict == verdict


def test_a_service_that_does_not_tell_its_time_is_no_problem():
    answers = Answers({"any": heard(date=None), "none": heard(status=None, date=NOW + 900)})
    assert offset_of_service(answers, offset_of_host(NOW, NOW, NOW)) is None
    assert about_clock_of_service(None).verdict == "good"


@pytest.mark.parametrize(
    ("there", "wanted", "verdict"),
    [
        (API_VERSIONS, "2020-07-01", "good"),
        (API_VERSIONS[1:], "2020-07-01", "good"),
        (API_VERSIONS[:-1], "2020-07-01", "bad"),
        (API_VERSIONS[:-1], "auto", "good"),
        (API_VERSIONS[:2], "auto", "doubtful"),
        (API_VERSIONS[:4], "2017-08-01", "doubtful"),
        ((), "auto", "bad"),
    ],
)
def test_api_versions(there, wanted, verdict):
    answers = Answers({events(version): heard(status=200 if version in there else 400) for version in API_VERSIONS})
    assert about_versions(answers, wanted).verdict == verdict


def test_how_fast_it_answers():
    answers = Answers({"a": heard(seconds=0.1), "b": heard(seconds=0.3), "c": heard(seconds=9)})
    assert about_answer(1, answers).seen == "the first reading took 1.0 s, each request after it 0.30 s"
    assert about_answer(5.1, answers).verdict == "doubtful"


# A journal that is left: who has drained the host, and whether that one is still there to return it to service.

JOURNAL = {
    "state": "drained",
    "started_at": "2026-11-17T10:00:00Z",
    "drained_at": "2026-11-17T10:01:00Z",
    "run_id": "killed-run",
    "worked_on_for": 0,
    "events": [{"id": "A"}],
}


def watcher(age=3, **said):
    """What a watcher left: it tells that the host is drained, whoever has done that."""
    status = {"read_at": "x", "watcher": {"version": "1", "drained": True, **said}}
    return {"installed": True, "problem": "", "age": age, "status": status}


NO_WATCHER = {"installed": False, "problem": "", "age": None, "status": None}
STOPPED = {**NO_WATCHER, "installed": True}


@pytest.mark.parametrize("seen", [{}, NO_WATCHER, STOPPED, watcher(), watcher(age=5000), watcher(left_for_a_run=["x"])])
def test_what_a_killed_run_has_left_is_bad_with_and_without_a_watcher(seen):
    found = about_journal(JOURNAL, "", seen)
    assert found.verdict == "bad"
    assert found.seen.startswith("drained since 2026-11-17T10:01:00Z by run killed-run for A, which is not at work")
    assert "drain_then_approve" in found.do


@pytest.mark.parametrize("seen", [{}, watcher()])
def test_a_run_that_is_at_work_ends_it_itself(seen):
    found = about_journal({**JOURNAL, "worked_on_for": 20}, "", seen)
    assert (found.verdict, found.do) == ("doubtful", "Check again when that run has ended")


@pytest.mark.parametrize(
    ("seen", "verdict"),
    [
        (watcher(), "doubtful"),
        (watcher(age=SILENT_AFTER), "doubtful"),
        (watcher(left_for_a_run=["E-1 waits"]), "doubtful"),
        (watcher(age=SILENT_AFTER + 1), "bad"),
        (watcher(failing_since="2026-11-17T10:02:00Z"), "bad"),
        (STOPPED, "bad"),
        (NO_WATCHER, "bad"),
        ({}, "bad"),
    ],
)
def test_a_watcher_returns_to_service_what_it_has_drained_as_long_as_it_is_well(seen, verdict):
    found = about_journal({**JOURNAL, "run_id": owner_name("web-0")}, "", seen)
    assert (found.verdict, "by the watcher of web-0 for A" in found.seen) == (verdict, True)
    assert ("drain_then_approve" in found.do) == (verdict == "bad")


def test_the_name_of_a_watcher_is_none_of_a_run():
    assert is_watcher(owner_name("web-0"))
    assert not any(map(is_watcher, ("run-7", "", None, "the watcher of web-0", "watcher")))


# Ways to a machine that can't be tried here, and those that are slow.

USUAL = {"connection": "ssh", "shell": "sh", "seconds": 0.1, "python": "3.11.7", "user": "root"}


def told_way(**changes):
    return {finding.point: (finding.verdict, finding.seen) for finding in about_way(Way(**{**USUAL, **changes}))}


def test_the_usual_way():
    assert told_way() == {
        "reach": ("good", "by ssh, a call takes 0.10 s"),
        "how our code gets there": ("good", "one command"),
        "Python": ("good", "3.11.7"),
        "become": ("good", "none, as root"),
    }


@pytest.mark.parametrize(("seconds", "verdict"), [(2.0, "good"), (2.1, "doubtful")])
def test_a_call_that_is_slow(seconds, verdict):
    assert told_way(seconds=seconds)["reach"][0] == verdict


def test_powershell():
    found = told_way(connection="winrm", shell="powershell", python=None, user="")
    assert found["how our code gets there"] == ("good", "PowerShell")
    assert found["Python"] == ("good", "not needed")


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("3.6.0", "good"), ("3.5.9", "bad"), ("2.7.18", "bad"), ("3.13.1", "good"), ("4.0", "good")],
)
def test_versions_of_python(version, verdict):
    assert told_way(python=version)["Python"][0] == verdict


def test_no_python():
    found = told_way(python=None, problem="no such file")
    assert "how our code gets there" not in found
    assert found["Python"] == ("bad", "none that runs: no such file")


def test_who_one_becomes():
    assert told_way(become="sudo to app", user="app")["become"] == ("good", "sudo to app, and then it is app")


@pytest.mark.parametrize(
    ("state", "verdict"),
    [("loaded", "good"), ("not-found", "bad"), ("masked", "bad"), ("systemctl can't be run: No such file", "doubtful")],
)
def test_states_of_units(state, verdict):
    need = {"step": "step 1 (services)", "machine": "", "kind": "unit", "name": "nginx", "wanted": ""}
    (found,) = about_needs([need], {"units": {"nginx": state}, "paths": {}, "commands": {}}, "the host")
    assert found.verdict == verdict
