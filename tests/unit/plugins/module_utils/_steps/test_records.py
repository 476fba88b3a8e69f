# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records of deeds on other machines: whose they are, what was found before, and who may act on them."""

from __future__ import annotations

import json

import pytest
from ansible_collections.maintenance.azure.plugins.module_utils._drain.host import StepError
from ansible_collections.maintenance.azure.plugins.module_utils._drain.records import RecordFile

ACTS_ON = {"kind": "load_balancer.haproxy", "backend": "web", "server": "web-0", "host": "lb1"}


def deed(host="web-0", events=("E0",), **more):
    return {"acts_on": {**ACTS_ON, **more}, "host": host, "vm": host, "events": list(events), "type": "Reboot"}


def kept(folder):
    (path,) = folder.iterdir()
    return json.loads(path.read_text())


def never():
    raise AssertionError("looked again")


def test_the_first_finding_stays_and_the_last_run_owns_it(tmp_path):
    folder = tmp_path / "records"
    assert RecordFile(folder, deed(), "r1").claimed(lambda: {"state": "ready"}) == {"state": "ready"}
    assert RecordFile(folder, deed(events=["E1"]), "r2").claimed(never) == {"state": "ready"}
    assert (kept(folder)["run_id"], kept(folder)["events"]) == ("r2", ["E0", "E1"])
    RecordFile(folder, deed(), "r2").check()
    with pytest.raises(StepError, match=r"is of another run now \(r2\), so nothing was done here"):
        RecordFile(folder, deed(), "r1").check()


def test_without_a_record_nothing_is_done(tmp_path):
    with pytest.raises(StepError, match="is gone, so nothing was done here"):
        RecordFile(tmp_path / "records", deed(), "r1").check()


def test_each_deed_has_its_own(tmp_path):
    for server in ("web-0", "web-1"):
        RecordFile(tmp_path, deed(server, server=server), "r1").claimed(dict)
    assert len(list(tmp_path.iterdir())) == 2
    RecordFile(tmp_path, deed("web-1", server="web-1"), "r1").forget()
    assert kept(tmp_path)["host"] == "web-0"


def test_what_is_drained_for_another_host_is_left_alone(tmp_path):
    RecordFile(tmp_path, deed(), "r1").claimed(dict)
    with pytest.raises(StepError, match="It was drained for the host web-0"):
        RecordFile(tmp_path, deed("web-9"), "r1").claimed(dict)


@pytest.mark.parametrize("text", ["", "x", "[]", "{}", '{"version": 1}'])
def test_a_damaged_record_is_never_taken_for_none(tmp_path, text):
    RecordFile(tmp_path, deed(), "r1").claimed(dict)
    (path,) = tmp_path.iterdir()
    path.write_text(text)
    for act in (RecordFile(tmp_path, deed(), "r1").check, lambda: RecordFile(tmp_path, deed(), "r1").claimed(dict)):
        with pytest.raises(StepError, match="can't be understood"):
            act()


def test_check_mode_writes_nothing(tmp_path):
    record = RecordFile(tmp_path / "records", deed(), "r1", predict_only=True)
    assert record.claimed(lambda: {"state": "ready"}) == {"state": "ready"}
    record.forget()
    assert not (tmp_path / "records").exists()
