# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each kind of step on a host, and the records that it leaves."""

from __future__ import annotations

import json
import socket
import time

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._steps import kind_connections as _kind_connections
from ansible_collections.maintenance.azure.plugins.module_utils._steps import kind_haproxy as _kind_haproxy
from ansible_collections.maintenance.azure.plugins.module_utils._steps import kind_nginx as _kind_nginx
from ansible_collections.maintenance.azure.plugins.module_utils._steps.health import failed_check
from ansible_collections.maintenance.azure.plugins.module_utils._steps.kind_connections import Connections
from ansible_collections.maintenance.azure.plugins.module_utils._steps.kind_probe_file import ProbeFile
from ansible_collections.maintenance.azure.plugins.module_utils._steps.machine import Machine, StepError
from ansible_collections.maintenance.azure.plugins.module_utils._steps.records import RecordFile
from helpers.network import closed_port
from hypothesis import given
from hypothesis import strategies as st

# What the kinds of steps do on a host, as far as it needs no load balancer and no systemd.

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:1F90 0100007F:C35A 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 0100007F:C35A 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1
   3: 0100007F:1F90 0100007F:C35B 06 00000000:00000000 00:00000000 00000000     0        0 0 3
   4: 0000000000000000FFFF00000100007F:01BB 0000000000000000FFFF00000100007F:C35C 01 00000000:00000000 00:0 0
"""


def test_only_established_connections_of_the_port_count():
    assert _kind_connections.count_in(TCP, [8080]) == 1
    assert _kind_connections.count_in(TCP, [8080, 443]) == 2
    assert _kind_connections.count_in(TCP, [22]) == 0


def test_real_connections_are_counted():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert _kind_connections.count([port]) == 0
        with socket.create_connection(("127.0.0.1", port)):
            accepted = server.accept()[0]
            assert _kind_connections.count([port]) == 1
            arguments = {"ports": [port], "at_most": 0, "on_timeout": "continue"}
            host = Machine(0.2)
            Connections.drain(host, arguments, {"established": 1})
            assert "1 established connections" in host.warnings[0]
            accepted.close()


def test_states_of_haproxy_servers():
    header = "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight\n"
    rows = [("ready", 2, 0), ("drained", 2, 8), ("maint", 0, 1), ("both", 0, 9), ("config", 0, 5), ("down", 0, 0)]
    text = header + "".join(f"3 web {n} {name} 10.0.0.1 {op} {admin} 1\n" for n, (name, op, admin) in enumerate(rows))
    states = _kind_haproxy.server_states(text)
    assert {name: state["state"] for name, state in states.items()} == {
        "ready": "ready",
        "drained": "drain",
        "maint": "maint",
        "both": "maint",
        "config": "maint",
        "down": "ready",
    }
    assert [name for name, state in states.items() if state["up"]] == ["ready", "drained"]
    assert _kind_haproxy.server_states("Can't find backend.\n") == {}


WORDS = st.lists(
    st.sampled_from(["weight=5", "max_fails=2", "backup", "down", "slow_start=30s"]), max_size=3, unique=True
)
SPACE = st.sampled_from([" ", "  ", "\t", "\n      "])


@st.composite
def upstreams(draw):
    lines = []
    for address in draw(st.lists(st.sampled_from(["a:80", "a:8080", "unix:/x", "b:80"]), min_size=1, max_size=6)):
        words = "".join(draw(SPACE) + word for word in draw(WORDS))
        comment = draw(st.sampled_from(["", " # server a:80;", "\n  # server a:80 weight=1;"]))
        lines.append(f"  server{draw(SPACE)}{address}{words}{draw(st.sampled_from(['', ' ']))};{comment}")
    return "upstream web {\n" + "\n".join(lines) + "\n}\n"


@given(upstreams())
def test_nginx_gets_back_exactly_what_was_there(text):
    before = _kind_nginx.statements_of(text, "a:80")
    marked = _kind_nginx.marked_down(text, "a:80")
    now = _kind_nginx.statements_of(marked, "a:80")
    assert ["down" in statement.rstrip(";").split() for statement in now] == [True] * len(before)
    assert _kind_nginx.statements_of(marked, "b:80") == _kind_nginx.statements_of(text, "b:80")
    assert _kind_nginx.marked_down(marked, "a:80") == marked
    restored = _kind_nginx.put_back(marked, "a:80", before)
    # The blank before a semicolon is not kept.
    assert restored.replace(" ;", ";") == text.replace(" ;", ";")
    assert _kind_nginx.statements_of(restored, "a:80") == before


def test_nginx_takes_only_the_down_away_where_the_rest_was_changed():
    assert _kind_nginx.put_back("server a:80 weight=9 down;", "a:80", ["server a:80;"]) == "server a:80 weight=9;"
    assert _kind_nginx.put_back("server a:80 down;", "a:80", ["server a:80 down;"]) == "server a:80 down;"


def test_nginx_on_one_line():
    text = "upstream web { server a:80; }\n"
    assert _kind_nginx.marked_down(text, "a:80") == "upstream web { server a:80 down; }\n"


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("present_means", ["healthy", "unhealthy"])
def test_a_probe_file_comes_back_as_it_was(tmp_path, there, present_means):
    path = tmp_path / "probe"
    if there:
        path.write_bytes(b"\xff yes")
        path.chmod(0o604)
    arguments = {"path": str(path), "present_means": present_means, "content": "", "wait": 0}
    host = Machine(5)
    before = ProbeFile.look(host, arguments)
    ProbeFile.drain(host, arguments, before)
    assert path.exists() is (present_means == "unhealthy")
    ProbeFile.restore(host, arguments, before)
    assert path.exists() is there
    if there:
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"\xff yes", 0o604)
    done = list(host.done)
    ProbeFile.restore(host, arguments, before)
    assert host.done == done


def test_a_probe_file_that_is_none(tmp_path):
    with pytest.raises(StepError, match="not a plain file"):
        ProbeFile.look(Machine(5), {"path": str(tmp_path)})


def test_a_wait_that_does_not_fit_is_not_begun():
    with pytest.raises(StepError, match="no time to wait 30 s"):
        Machine(5).pause(30, "for the probe")


def test_a_daemon_that_a_command_leaves_does_not_hold_it_up():
    # Held up, it would be killed after a minute.
    assert Machine(60).run(["sh", "-c", "sleep 90 & echo up"]) == (0, "up")


def test_a_command_that_is_too_slow_is_killed_with_all_it_started(tmp_path):
    with pytest.raises(StepError, match=r"sh did not end within 0\.5 s"):
        Machine(0.5).run(["sh", "-c", f"(sleep 2; touch {tmp_path}/late) & sleep 30"])
    time.sleep(2)
    assert not (tmp_path / "late").exists()


def test_a_command_that_is_not_there():
    with pytest.raises(StepError, match="/nowhere can't be run: No such file"):
        Machine(5).run("/nowhere now")


def test_health_by_port_and_command():
    with socket.create_server(("127.0.0.1", 0)) as server:
        check = {"port": server.getsockname()[1], "host": "127.0.0.1", "timeout": 1, "interval": 1}
        assert failed_check(Machine(5), check) is None
    with closed_port() as port:
        assert "can't be reached" in failed_check(Machine(5), {**check, "port": port})
    asked = {"command": "false", "timeout": 1, "interval": 1}
    assert "false ends with exit code 1 (asked for 1 s)" in failed_check(Machine(5), asked)


# Records of actions on other machines: whose they are, what was found before, and who may act on them.

ACTS_ON = {"kind": "load_balancer.haproxy", "backend": "web", "server": "web-0", "host": "lb1"}


def action(host="web-0", events=("E0",), **more):
    return {"acts_on": {**ACTS_ON, **more}, "host": host, "vm": host, "events": list(events), "type": "Reboot"}


def kept(folder):
    (path,) = folder.iterdir()
    return json.loads(path.read_text())


def never():
    raise AssertionError("looked again")


def test_the_first_finding_stays_and_the_last_run_owns_it(tmp_path):
    folder = tmp_path / "records"
    assert RecordFile(folder, action(), "r1").claimed(lambda: {"state": "ready"}) == {"state": "ready"}
    assert RecordFile(folder, action(events=["E1"]), "r2").claimed(never) == {"state": "ready"}
    assert (kept(folder)["run_id"], kept(folder)["events"]) == ("r2", ["E0", "E1"])
    RecordFile(folder, action(), "r2").check()
    with pytest.raises(StepError, match=r"is of another run now \(r2\), so nothing was done here"):
        RecordFile(folder, action(), "r1").check()


def test_without_a_record_nothing_is_done(tmp_path):
    with pytest.raises(StepError, match="is gone, so nothing was done here"):
        RecordFile(tmp_path / "records", action(), "r1").check()


def test_each_action_has_its_own(tmp_path):
    for server in ("web-0", "web-1"):
        RecordFile(tmp_path, action(server, server=server), "r1").claimed(dict)
    assert len(list(tmp_path.iterdir())) == 2
    RecordFile(tmp_path, action("web-1", server="web-1"), "r1").forget()
    assert kept(tmp_path)["host"] == "web-0"


def test_what_is_drained_for_another_host_is_left_alone(tmp_path):
    RecordFile(tmp_path, action(), "r1").claimed(dict)
    with pytest.raises(StepError, match="It was drained for the host web-0"):
        RecordFile(tmp_path, action("web-9"), "r1").claimed(dict)


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"version": 1}'])
def test_a_damaged_record_is_never_taken_for_none(tmp_path, text):
    RecordFile(tmp_path, action(), "r1").claimed(dict)
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    for act in (RecordFile(tmp_path, action(), "r1").check, lambda: RecordFile(tmp_path, action(), "r1").claimed(dict)):
        with pytest.raises(StepError, match="can't be understood"):
            act()


def test_check_mode_writes_nothing(tmp_path):
    record = RecordFile(tmp_path / "records", action(), "r1", predict_only=True)
    assert record.claimed(lambda: {"state": "ready"}) == {"state": "ready"}
    record.forget()
    assert not (tmp_path / "records").exists()
