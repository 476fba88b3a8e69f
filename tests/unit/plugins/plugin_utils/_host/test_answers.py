# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts answer by each transport, and what is never taken for an answer."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible_collections.maintenance.azure.plugins.module_utils._azure import http as _http
from ansible_collections.maintenance.azure.plugins.module_utils._azure import imds as _imds
from ansible_collections.maintenance.azure.plugins.module_utils._host import journal_command as _journal_command
from ansible_collections.maintenance.azure.plugins.module_utils._host import lease as _lease
from ansible_collections.maintenance.azure.plugins.plugin_utils._azure.events import BadReading, build_status
from ansible_collections.maintenance.azure.plugins.plugin_utils._host import answers as _answers
from ansible_collections.maintenance.azure.plugins.plugin_utils._host import connection as _connection
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.answers import (
    checked,
    keyed,
    list_of,
    number,
    text,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.connection import (
    HostSilent,
    Late,
    answering_within,
    ending_within,
    patience_within,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.curl import (
    CONNECTED,
    LARGEST_ANSWER,
    CurlTransport,
    Told,
    Unusable,
    answers_of,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.readings import (
    OTHERS_IN,
    ApiVersions,
    Documents,
    last_reading,
    own_events,
)
from ansible_collections.maintenance.azure.plugins.plugin_utils._host.service import (
    DocumentReading,
    HostFailed,
    HostService,
    RefusedByHost,
    Unanswered,
    Unreachable,
)
from helpers.leases import mark, note
from helpers.waiting import wait_until
from helpers.windows_double.actions import BehindAnAction
from helpers.windows_double.machine import SOMEBODY
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# What a host may say: whatever it says, only the keys that are asked for come through, with their types.

# On a busy machine the first values take their time.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SERVICE = {"status": 200, "body": "{}", "headers": {"a": "b"}, "at": 7e12}
EVENT = {"id": "A1", "type": "Reboot", "resources": ["web"], "not_before": None, "duration_seconds": -1}
STEP = {"number": 1, "kind": "log", "arguments": {"message": "x"}, "before": {}, "status": "done", "event": "A1"}
JOURNAL = {"version": 1, "state": "drained", "events": [EVENT], "steps": [STEP], "run_id": "r", "boot_id": None}
OWNER = {**dict.fromkeys(("run_id", "controller", "host", "process_start", "user", "note", "taken_at"), "x"), "pid": 1}
ONE = {"changed": True, "done": ["x"], "remarks": [], "state": "drained", "boot_id": "b", "now": "n", "drained_at": "t"}
GOOD = {
    "EXCHANGE": {"changed": False, "answers": {"endpoint": "http://x", "events": SERVICE, "instance": None}},
    "JOURNAL": {"changed": False, "journal": JOURNAL, "boot_id": "b", "now": "n"},
    "STEP": {"changed": True, "results": [ONE, {"changed": False, "failed": True, "msg": "m"}], "journal": JOURNAL},
    "LEASE": {
        "held": True,
        "changed": True,
        "renewed": False,
        "holder": OWNER,
        "took_over_from": None,
        "notes": [note("web-0"), note("web-0", mark=mark())],
        "remembers": 4000,
        "too_new_for": None,
    },
}
FORBIDDEN = ("add_host", "add_group", "ansible_facts", "ansible_stats", "_ansible_no_log", "invocation", "exception")
SIGNS = [
    ("\x1b[2J", "\\x1b[2J"),
    ("\r\n", "\\r\\n"),
    ("\x9b31m", "\\x9b31m"),
    ("\u202e", "\\u202e"),
    ("\u2066", "\\u2066"),
    ("\u2028", "\\u2028"),
    ("\ud800", "\\ud800"),
    ("\u00e9\U0001f600\u00a0\\x1b", "\u00e9\U0001f600\u00a0\\x1b"),
]
KEYS = st.sampled_from(
    [*FORBIDDEN, "failed", "msg", "answers", "journal", "results", "held", "steps", "state", "events", "notes", "mark"]
)
WORDS = st.text("ab{[#\u00e4\0", max_size=5)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | WORDS, inner, max_size=4),
    max_leaves=12,
)


def keys_in(value):
    if isinstance(value, dict):
        return set(value).union(*(keys_in(one) for one in value.values()))
    return set().union(*(keys_in(one) for one in value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("half", GOOD)
def test_a_good_answer_comes_through(half):
    answer = checked(GOOD[half], getattr(_answers, half))
    assert not answer.get("failed"), answer
    assert json.loads(json.dumps(answer)) == answer


def test_what_is_of_no_use_is_dropped():
    answer = checked(GOOD["EXCHANGE"], _answers.EXCHANGE)
    assert answer["answers"]["events"] == {"status": 200, "body": "{}"}


@pytest.mark.parametrize("half", GOOD)
@PATIENT
@given(lie=st.dictionaries(KEYS, ANYTHING, max_size=5))
def test_whatever_is_merged_in(half, lie):
    answer = checked({**GOOD[half], **lie}, getattr(_answers, half))
    assert isinstance(answer, dict)
    assert not set(answer) & set(FORBIDDEN)
    if answer.get("failed"):
        assert isinstance(answer["msg"], str)
    else:
        assert set(answer) <= set(GOOD[half]) | {"state"}


@PATIENT
@given(ANYTHING)
def test_whatever_is_said(answer):
    for half in GOOD:
        found = checked(answer, getattr(_answers, half))
        assert isinstance(found, dict)
        assert not set(found) & set(FORBIDDEN)


@pytest.mark.parametrize("odd", [10**400, float("inf"), float("nan"), True, "1"], ids=lambda odd: str(odd)[:5])
def test_a_number_is_one_to_reckon_with(odd):
    assert "its answer.x is no number" in checked({"changed": True, "x": odd}, keyed({"x": number}))["msg"]


@pytest.mark.parametrize("half", GOOD)
@pytest.mark.parametrize(("sign", "seen"), SIGNS)
def test_a_text_for_a_person_has_nothing_that_a_terminal_obeys(half, sign, seen):
    def said(value):
        """The texts of an answer, but for what is parsed again or goes back to the host."""
        if isinstance(value, dict):
            raw = ("body", "arguments", "before", "status", "state", "kind")
            return [text for key, one in value.items() if key not in raw for text in said(one)]
        return [text for one in value for text in said(one)] if isinstance(value, list) else [value]

    def odd(value, key=""):
        if isinstance(value, dict):
            return {name: odd(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [odd(one) for one in value]
        return f"a{sign}b" if isinstance(value, str) and key not in ("body", "status", "state") else value

    answer = checked(odd(GOOD[half]), getattr(_answers, half))
    texts = [one for one in said(answer) if isinstance(one, str)]
    assert not answer.get("failed"), answer
    assert set(texts) == {f"a{seen}b"}
    assert checked({"failed": True, "msg": f"a{sign}b"}, text)["msg"] == f"a{seen}b"


def test_a_complaint_says_where():
    answer = checked({"changed": True, "x": [{"y": 3}]}, keyed({"x": list_of(keyed({"y": text}))}))
    assert "its answer.x[0].y is no text" in answer["msg"]


class Tagged(str):
    """As ansible-core 2.19 and newer tie things to a text."""


def test_a_text_is_plain():
    assert not isinstance(checked({"x": Tagged("a")}, keyed({"x": text}))["x"], Tagged)


# What a host that can't be asked means to those who wait for it.


class Action:
    def __init__(self, error):
        self.error = error

    def ask_host(self, *_arguments, **_options):
        raise self.error

    def api_versions(self, _task_vars):
        return self

    def wanted(self, _options):
        return "2020-07-01"


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (AnsibleConnectionFailure("No route to host"), Unreachable),
        # What ansible-core before 2.19 says of a host whose power fails before `become` has asked its question.
        (AnsibleError("Timeout (12s) waiting for privilege escalation prompt: "), Unreachable),
        (HostFailed({"msg": "HTTP 500"}), Unanswered),
        (AnsibleActionFail("vm_name is empty"), AnsibleActionFail),
    ],
)
def test_why_there_is_no_answer(error, means):
    with pytest.raises(means):
        HostService(Action(error), {"timeout": 1, "vm_name": "web"}, {}).read()


def sent(result):
    """What it means for an approval that the host half has ended so."""
    status = {"document_incarnation": 1, "events": [], "endpoint": "http://169.254.169.254"}
    service = HostService(Action(HostFailed(result)), {"timeout": 1, "vm_name": "web"}, {})
    return service.approve(DocumentReading(status, "{}", "web"), ["E0"])


def test_a_host_that_refuses_an_approval_says_why_in_one_word():
    with pytest.raises(RefusedByHost, match="The command is too old") as refusal:
        sent({"msg": "The command is too old", "refused": "age", "kind": "refused"})
    assert refusal.value.word == "age"


def test_an_approval_that_the_service_did_not_answer_was_not_sent():
    with pytest.raises(Unanswered, match="HTTP 500"):
        sent({"msg": "HTTP 500", "kind": "status"})


@pytest.mark.parametrize("more", [{}, {"kind": "unexpected"}])
def test_a_host_half_that_did_not_live_to_tell_may_have_sent_the_approval(more):
    outcome = sent({"msg": "cut off", **more})
    assert (outcome.sent, outcome.unclear, outcome.problem) == (False, True, "cut off")


# The events of others are kept once for a run, and come back with every reading that has shown them.


def body_of(*names, status="Scheduled"):
    events = [
        {"EventId": f"E-{name}", "EventType": "Reboot", "EventStatus": status, "Resources": [name]} for name in names
    ]
    return json.dumps({"DocumentIncarnation": 7, "Events": events})


def reading(documents, body, vm_name):
    digest, document = documents.once(body)
    return {**build_status(own_events(document, vm_name), None, 0.0, vm_name), OTHERS_IN: digest}


def test_a_reading_holds_its_own_events_and_is_whole_again(tmp_path):
    status = reading(Documents(tmp_path), body_of("web-0", "web-1", "WEB-1"), "Web-1")
    assert [event["id"] for event in status["events"]] == ["E-web-1"]
    whole = Documents(tmp_path).whole(status, 0.0)
    assert {event["id"]: event["affects_this_host"] for event in whole["events"]} == {"E-web-0": False, "E-web-1": True}
    assert whole["document_incarnation"] == 7


def test_the_events_of_others_are_the_same_objects_for_all(tmp_path):
    body = body_of(*(f"web-{number}" for number in range(50)))
    statuses = [reading(Documents(tmp_path), body, f"web-{number}") for number in range(50)]
    assert len(list((tmp_path / "azure-documents").iterdir())) == 1
    documents = Documents(tmp_path)
    lists = [documents.whole(status, 0.0)["events"] for status in statuses]
    assert lists[0][49] is lists[1][49]
    assert [event["id"] for event in lists[3]] == [event["id"] for event in lists[4]]


def test_without_its_document_a_reading_is_none(tmp_path):
    """A bad reading is never taken for "no events": the others could be anything."""
    status = reading(Documents(tmp_path), body_of("web-0", "web-1"), "web-0")
    assert "events" not in Documents(tmp_path / "elsewhere").whole(status, 0.0)
    Documents(tmp_path).store.path(status[OTHERS_IN]).unlink()
    assert "events" not in Documents(tmp_path).whole(status, 0.0)


def test_a_reading_that_holds_everything_stays_as_it_is(tmp_path):
    status = {"events": [], "read_at": "x"}
    assert Documents(tmp_path).whole(status, 0.0) == status


@pytest.mark.parametrize("body", ["", "no JSON", "[]", '{"Events": []}', '{"DocumentIncarnation": 1, "Events": [{}]}'])
def test_what_can_not_be_understood_is_not_kept(tmp_path, body):
    documents = Documents(tmp_path)
    for _twice in range(2):
        with pytest.raises(BadReading):
            documents.once(body)
    assert not (tmp_path / "azure-documents").exists()


# Which reading of a host is the last, where its drain may have brought one along.

BEFORE, DRAINED, AFTER = ({"heard_at": at, "events": []} for at in (10.0, 20.0, 30.0))


@pytest.mark.parametrize(
    ("status", "drain", "last"),
    [
        (None, None, None),
        (BEFORE, None, BEFORE),
        (BEFORE, {"skipped": True}, BEFORE),
        (BEFORE, {"failed": True, "reading": None}, BEFORE),
        (BEFORE, {"reading": DRAINED}, DRAINED),
        (AFTER, {"reading": DRAINED}, AFTER),
        # Heard at the same moment: nobody is drained before he is read.
        (DRAINED, {"reading": {**DRAINED, "journal": {}}}, {**DRAINED, "journal": {}}),
    ],
)
def test_the_one_that_was_heard_last(status, drain, last):
    assert last_reading({"maintenance_status": status, "drain_result": drain}) == last
    assert last_reading({"maintenance_status": status, "restore_result": drain}) == last


def test_that_of_a_return_follows_that_of_the_drain():
    known = {"maintenance_status": BEFORE, "drain_result": {"reading": DRAINED}, "restore_result": {"reading": AFTER}}
    assert last_reading(known) == AFTER
    # And comes before that of the next drain.
    assert last_reading({**known, "drain_result": {"reading": {**AFTER, "heard_at": 40.0}}})["heard_at"] == 40.0


@pytest.mark.parametrize("status", [{"unreachable": True, "msg": "gone"}, {"failed": True, "msg": "no answer"}])
def test_a_reading_that_failed_after_the_drain_is_the_last(status):
    assert last_reading({"maintenance_status": status, "drain_result": {"reading": DRAINED}}) == status


# A file that a Windows host does not write is a failure with a message, as on Linux, and not a bug's traceback.

FOLDER = "C:\\ProgramData\\azure-maintenance"
REFUSED_JOURNAL = {"path": f"{FOLDER}\\journal.json", "state": "begin", "run_id": "r1", "events": []}
ME = {"run_id": "r1", "controller": "c", "host": "ctl", "pid": 42, "process_start": "4711", "user": "me", "note": ""}
LEASE = {"path": f"{FOLDER}\\run.lock", "do": "take", "me": ME, "seconds": 60}


@pytest.mark.parametrize(("code", "request_"), [(_journal_command, REFUSED_JOURNAL), (_lease, LEASE)])
def test_a_folder_of_somebody_else(tmp_path, code, request_):
    host = BehindAnAction(tmp_path)
    host.machine.make_folder(FOLDER, SOMEBODY)
    result = host.run(code, request_)
    assert (result["failed"], result["changed"]) == (True, False)
    assert f"{FOLDER} belongs to {SOMEBODY}" in result["msg"]
    assert result["msg"].endswith("look at it, move it away, and run again")
    assert host.machine.text(request_["path"]) is None


# What `api_version: auto` has found is remembered for a host, and a host is not believed everything.

AUTO = {"api_version": "auto", "endpoint": "http://a"}


def answers(version, endpoint="http://a"):
    return {"api_version": version, "endpoint": endpoint}


def test_nothing_is_known_at_first(tmp_path):
    assert ApiVersions(tmp_path, "web-0").wanted(AUTO) == "auto"


def test_what_was_found_is_asked_for_from_then_on(tmp_path):
    ApiVersions(tmp_path, "web-0").learn(AUTO, answers("2017-08-01"))
    assert ApiVersions(tmp_path, "web-0").wanted(AUTO) == "2017-08-01"


def test_other_hosts_and_other_endpoints_are_asked_for_themselves(tmp_path):
    ApiVersions(tmp_path, "web-0").learn(AUTO, answers("2017-08-01"))
    assert ApiVersions(tmp_path, "web-1").wanted(AUTO) == "auto"
    assert ApiVersions(tmp_path, "web-0").wanted({**AUTO, "endpoint": "http://b"}) == "auto"


def test_it_is_known_by_both_names_of_an_endpoint_that_was_found(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    versions.learn({**AUTO, "endpoint": "auto"}, answers("2017-08-01", "http://b"))
    assert [versions.wanted({**AUTO, "endpoint": name}) for name in ("auto", "http://b")] == ["2017-08-01"] * 2


def test_a_version_that_was_given_is_neither_looked_up_nor_remembered(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    given = {**AUTO, "api_version": "2019-01-01"}
    versions.learn(given, answers("2019-01-01"))
    assert (versions.wanted(given), versions.wanted(AUTO)) == ("2019-01-01", "auto")
    versions.learn(AUTO, answers("2017-08-01"))
    assert versions.wanted(given) == "2019-01-01"


@pytest.mark.parametrize("lie", [None, "", "auto", "2099-01-01", "2017-08-01&x=1", ["2017-08-01"], {"a": 1}])
def test_a_host_is_believed_versions_that_we_know_and_nothing_else(lie):
    events = {"status": 200, "body": "{}"}
    told = {"answers": {**answers(lie), "events": events, "instance": None}}
    assert checked(told, _answers.EXCHANGE)["failed"]
    told["answers"]["api_version"] = "2017-08-01"
    assert checked(told, _answers.EXCHANGE)["answers"]["api_version"] == "2017-08-01"


def test_a_host_that_says_nothing_teaches_nothing(tmp_path):
    versions = ApiVersions(tmp_path, "web-0")
    versions.learn(AUTO, {"endpoint": "http://a"})
    assert versions.wanted(AUTO) == "auto"


# What curl wrote becomes answers or exceptions; nothing that is cut, failed or strange becomes an answer.

AT = 1794800000
END = f"{CONNECTED}0.000123;".encode()
EVENTS = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-A: 1\r\nx-a: 2\r\n\r\n{"Events": []}'
INSTANCE = b'HTTP/1.0 200 OK\r\n\r\n{"name": "web"}'


def told(output, exit_code=0):
    return answers_of(Told(output, exit_code, AT))


def test_two_answers():
    events, instance = told(EVENTS + END + INSTANCE + END)
    assert events == _http.Answer(200, {"content-type": "application/json", "x-a": "2"}, b'{"Events": []}', AT)
    assert (instance.status, instance.body) == (200, b'{"name": "web"}')


def test_what_comes_before_the_answer_is_not_the_answer():
    (answer,) = told(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\n" + END)
    assert (answer.status, answer.headers, answer.body) == (503, {"retry-after": "3"}, b"")


@pytest.mark.parametrize(
    ("output", "code", "kind"),
    [
        (END + b"curl: (6) Could not resolve host: x\n", 6, _http.NotResolved),
        (f"{CONNECTED}0.000000;".encode() + b"curl: (7) Failed to connect\n", 7, _http.NotAccepted),
        (f"{CONNECTED}0,000000;".encode() + b"curl: (28) Connection timed out\n", 28, _http.NotAccepted),
        (END + b"curl: (28) Operation timed out\n", 28, _http.TimedOut),
        (END + b"curl: (52) Empty reply from server\n", 52, _http.Broken),
        (EVENTS[:-3] + END + b"curl: (18) transfer closed with 3 bytes remaining\n", 18, _http.Broken),
        (EVENTS, 0, _http.Broken),
        (b"", 0, _http.Broken),
        (b"{}" + END, 0, _http.Broken),
        (b"HTTP/1.1 200 OK\r\nA: b\r\n" + END, 0, _http.Broken),
        (EVENTS + b" " * LARGEST_ANSWER, 23, _http.TooLarge),
        (EVENTS + b" " * _http.LARGEST_BODY + END, 0, _http.TooLarge),
    ],
)
def test_no_answer(output, code, kind):
    (failure,) = told(output, code)
    assert failure.__class__ is kind


def test_the_second_fails():
    first, second = told(EVENTS + END + b"HTTP/1.1 200 OK\r\n\r\n{" + END + b"curl: (18) closed\n", 18)
    assert first.status == 200
    assert second.__class__ is _http.Broken


@pytest.mark.parametrize("code", [2, 126, 127])
def test_a_curl_that_can_not_do_it(code):
    with pytest.raises(Unusable):
        told(b"", code)


@given(st.integers(0, len(EVENTS + END + INSTANCE + END) - 1), st.sampled_from([0, 18, 23, 56]))
def test_a_cut_is_never_an_answer(length, code):
    whole = told(EVENTS + END + INSTANCE + END)
    found = told((EVENTS + END + INSTANCE + END)[:length], code)
    answers = [answer for answer in found if isinstance(answer, _http.Answer)]
    assert answers == whole[: len(answers)]
    assert len(answers) < 2


@given(st.binary(max_size=300), st.integers(1, 125).filter(lambda code: code != 2))
def test_a_failure_is_never_an_answer(output, code):
    assert isinstance(told(output, code)[-1], Exception)


class Recorder:
    def __init__(self):
        self.programs = []

    def run(self, program):
        self.programs.append(program)
        return [Told(EVENTS + END + INSTANCE + END, 0, AT)]


def test_what_was_asked_along_is_not_asked_again():
    host = Recorder()
    transport = CurlTransport(host, "http://169.254.169.254", with_instance=True)
    assert transport.send("GET", "/events", None, {}, 5, 10).body == b'{"Events": []}'
    assert transport.send("GET", _imds.INSTANCE_TARGET, None, {}, 5, 10).body == b'{"name": "web"}'
    assert len(host.programs) == 1
    transport.send("GET", "/events", None, {}, 5, 10)
    assert "--next" not in host.programs[-1]


@given(st.text(max_size=50))
def test_nothing_of_a_body_becomes_a_word_of_the_shell(text):
    host = Recorder()
    CurlTransport(host, "http://169.254.169.254", with_instance=False).send("POST", "/events", text, {}, 5, 10)
    printed = host.programs[0].split("printf '%b' '")[1].split("'")[0]
    assert set(printed) <= set("\\01234567")
    assert bytes(int(number, 8) for number in printed.split("\\0")[1:]).decode() == text


# Whatever is asked of a host ends in time, in the connection plugin as well, and with what it has started.


def in_a_command():
    started.append(subprocess.Popen(["sleep", "1000"]))
    process = started[-1]
    process.communicate()


def in_a_plugin_that_goes_on():
    while True:
        with contextlib.suppress(Exception):
            time.sleep(100)


def in_a_plugin_that_tidies_up():
    try:
        time.sleep(100)
    finally:
        time.sleep(100)


started: list[subprocess.Popen] = []


@pytest.fixture
def action(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(_connection, "SECONDS_BETWEEN_ALARMS", 0.2)
    shell = SimpleNamespace(tmpdir="/a/folder")
    options = {"timeout": 10}
    connection = SimpleNamespace(_shell=shell, get_option=options.__getitem__)
    return SimpleNamespace(_task=SimpleNamespace(delegate_to=None), _connection=connection)


@pytest.mark.parametrize("hangs", [in_a_command, in_a_plugin_that_goes_on, in_a_plugin_that_tidies_up])
def test_a_host_that_hangs_is_named_in_time_and_gets_less_until_it_answers(action, hangs):
    variables = {"inventory_hostname": "web-0"}
    for seconds in (0.4, 0.2):
        begun = time.monotonic()
        with pytest.raises(HostSilent, match=r"^web-0 took a command"), answering_within(action, variables, 0.4, 0.2):
            hangs()
        assert seconds <= time.monotonic() - begun < seconds + 30
        # Ansible would remove it with another command, which nobody ends.
        assert action._connection._shell.tmpdir is None
    assert all(process.wait(60) for process in started)
    with answering_within(action, variables, 100, 60):
        time.sleep(0)
    with answering_within(action, variables, 100, 0.2):
        time.sleep(0.4)
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_machine_to_which_a_task_is_delegated_is_the_one_that_is_named(action):
    action._task.delegate_to = "lb-0"
    with pytest.raises(HostSilent, match=r"^lb-0 "), answering_within(action, {"inventory_hostname": "web-0"}, 0.1):
        time.sleep(100)


def test_a_time_within_another_and_within_that_of_ansible():
    class Outer(BaseException):
        pass

    def ring(*_about):
        raise Outer

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Late), ending_within(0.2), ending_within(100):
            time.sleep(100)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Outer), ending_within(100):
            time.sleep(100)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(Late), ending_within(0.1):
            time.sleep(100)
        with pytest.raises(Outer):
            time.sleep(100)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_host_that_is_down_is_never_taken_for_one_that_hangs(action):
    assert _connection.seconds_to_connect(action) > 10
    action._connection.get_option = {"connection_timeout": 60, "timeout": 10}.__getitem__
    assert _connection.seconds_to_connect(action) > 60
    action._connection.get_option = {"connection_timeout": None}.__getitem__
    assert _connection.seconds_to_connect(action) > 30


def test_what_a_task_has_started_ends_with_what_that_has_started(tmp_path):
    told = tmp_path / "told"
    outer = subprocess.Popen(["sh", "-c", f"sleep 1000 & echo $! > {told}; wait"])
    wait_until(lambda: told.exists() and told.read_text().strip())
    _connection.end_descendants(outer.pid)
    assert outer.wait(60) == 0
    wait_until(lambda: not is_running(told.read_text().strip()))


def is_running(pid):
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def test_how_long_a_module_waits_for_the_service_is_a_whole_number():
    assert [patience_within(seconds) for seconds in (35.0, 1.0)] == [23, 1]
