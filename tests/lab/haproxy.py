# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask HAProxy on the load balancer, as an operator on that machine would."""

from __future__ import annotations

import csv
import socket

from lab.machine import Machine

BACKEND = "web"
SOCKET = "run/haproxy/admin.sock"


def ask(balancer: Machine, command: str) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(balancer.inner_path(SOCKET)))
        connection.sendall(command.encode() + b"\n")
        answer = b""
        while True:
            part = connection.recv(65536)
            if not part:
                return answer.decode()
            answer += part


def statuses(balancer: Machine) -> dict[str, str]:
    """Server -> UP, DRAIN, MAINT, DOWN, or a state on the way to one of them."""
    lines = ask(balancer, "show stat").removeprefix("# ").splitlines()
    rows = csv.DictReader(line for line in lines if line)
    return {
        row["svname"]: row["status"]
        for row in rows
        if row["pxname"] == BACKEND and row["svname"] not in ("BACKEND", "FRONTEND")
    }


def in_service(balancer: Machine) -> set[str]:
    return {server for server, status in statuses(balancer).items() if status == "UP"}
