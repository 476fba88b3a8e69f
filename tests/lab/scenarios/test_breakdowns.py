# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What breaks on the way stops the run, says where and what to do, and touches nothing else."""

from __future__ import annotations

import pytest
from lab import controller, events
from lab.names import DOMAIN_OF

STUBBORN = """[Service]
ExecStart=/bin/sh -c "trap '' TERM; while :; do sleep 1; done"
"""


def a_service_that_does_not_stop(fleet):
    machine = fleet.machines["web-3"]
    (machine.root / "etc/systemd/system/stubborn.service").write_text(STUBBORN)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "stubborn")
    return {"drain_steps": [*controller.STEPS, {"services": {"names": ["stubborn"], "timeout": 8}}]}


def no_socket(fleet):
    fleet.balancer.run("mv", "/run/haproxy/admin.sock", "/run/haproxy/elsewhere.sock")
    return {}


def a_full_disk(fleet):
    where = "/var/lib/azure-maintenance"
    fleet.machines["web-3"].run(
        "sh", "-c", f"mkdir -p {where} && mount -t tmpfs -o size=16k full {where} && ! cat /dev/zero > {where}/full"
    )
    return {}


def repair(fleet):
    """Whatever was broken; what was on a machine's disk goes with the machine."""
    fleet.balancer.run("sh", "-c", "cd /run/haproxy && [ -e admin.sock ] || mv elsewhere.sock admin.sock")
    fleet.machines["web-3"].turn_off()


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (a_service_that_does_not_stop, ["web-3", "stubborn"]),
        (no_socket, ["lb1", "/run/haproxy/admin.sock", "stats socket"]),
        (a_full_disk, ["web-3", "/var/lib/azure-maintenance", "No space left"]),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_the_run_stops_and_says_why(fleet, evidence, figures, request, break_it, said):
    request.addfinalizer(lambda: repair(fleet))
    events.plan_all_domains(fleet)
    run = controller.run(break_it.__name__, **break_it(fleet))
    assert run.code != 0
    summary = run.output[run.output.index("Say what was done and what is left") :]
    for words in said:
        assert words in summary, f"{words!r} is not in the summary:\n{summary}"
    assert evidence.approvals() == []
    assert {name: evidence.boots(name) for name in DOMAIN_OF} == dict.fromkeys(DOMAIN_OF, 0)
    touched = {span.host for span in evidence.out_of_service()}
    assert touched <= {"web-0", "web-3"}
    stopped = [name for name in DOMAIN_OF if evidence.unit_changes(fleet.machines[name], "nginx.service")]
    assert set(stopped) <= {"web-0", "web-3"}
    answers = evidence.answers()
    assert answers.failed == []
    name = break_it.__name__.replace("_", " ")
    figures.add(
        f"{name}",
        f"exit code {run.code}, 0 approvals, out of rotation: {', '.join(sorted(touched)) or 'nobody'}; {answers}",
    )
