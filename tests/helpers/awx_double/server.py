# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""AWX's HTTP API, as far as awx.awx needs it to set things up and to launch jobs, kept in memory and picky.

with AwxDouble(project_folder) as awx:
    ...run something with awx.environment...
    assert awx.writes == []
"""

from __future__ import annotations

import http.server
import json
import re
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from helpers.awx_double.launches import Launches, Syncs
from helpers.awx_double.rules import (
    ASSOCIATIONS,
    KINDS,
    SECRETS,
    Refused,
    check_name,
    check_object,
    check_survey,
    fields_to_keep,
)

VERSION = "24.6.1"
TOKEN = "a-token-of-the-double"
UNIFIED = ("job_templates", "workflow_job_templates", "projects", "inventory_sources", "workflow_approval_templates")


class NotThere(Exception):
    """Answered with 404."""


class Unanswered(Exception):
    """Answered with 502."""


class Store:
    """All objects, by kind and id."""

    def __init__(self, project_folder: Path) -> None:
        self.project_folder = project_folder
        self.kinds: dict[str, dict[int, dict[str, Any]]] = {kind: {} for kind in KINDS}
        self.links: dict[tuple[str, int, str], list[int]] = {}
        self._last_id = 0
        self._come_with_awx()

    def new_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def _come_with_awx(self) -> None:
        self.add("organizations", {"name": "Default"})
        secret = ("password", "ssh_key_data", "ssh_key_unlock", "oauth_token")
        ssh = [{"id": name, "secret": name in secret} for name in ("username", "become_method", *secret[:3])]
        self.add("credential_types", {"name": "Machine", "kind": "ssh", "inputs": {"fields": ssh}})
        awx = [
            {"id": name, "secret": name in secret}
            for name in ("host", "username", "password", "oauth_token", "verify_ssl")
        ]
        self.add(
            "credential_types",
            {"name": "Red Hat Ansible Automation Platform", "kind": "cloud", "inputs": {"fields": awx}},
        )

    def add(self, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        number = self.new_id()
        url = f"/api/v2/{kind}/{number}/"
        item = {"id": number, "type": kind.removesuffix("s"), "url": url, "related": {}, "summary_fields": {}, **fields}
        if kind in ("job_templates", "workflow_job_templates"):
            item["related"]["survey_spec"] = f"{url}survey_spec/"
        if kind == "job_templates":
            # A template belongs to the organization of its project.
            item["organization"] = self.kinds["projects"][fields["project"]].get("organization")
        if kind == "workflow_job_templates":
            item["related"]["launch"] = f"{url}launch/"
        if kind == "projects":
            item.setdefault("scm_revision", "0000000")
        if kind in ("projects", "inventory_sources"):
            item["related"]["update"] = f"{url}update/"
        if kind == "credential_types":
            item["managed"] = False
        self.kinds[kind][number] = item
        return item

    def find(self, kind: str, number: int) -> dict[str, Any] | None:
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        return next((self.kinds[one][number] for one in kinds if number in self.kinds.get(one, {})), None)

    def list(self, kind: str) -> list[dict[str, Any]]:
        kinds = UNIFIED if kind == "unified_job_templates" else (kind,)
        if not set(kinds) <= set(self.kinds):
            raise NotThere
        return [item for one in kinds for item in self.kinds[one].values()]

    def named(self, kind: str, name: str) -> dict[str, Any]:
        return next(item for item in self.list(kind) if name in (item.get("name"), item.get("identifier")))

    def shown(self, kind: str, item: dict[str, Any]) -> dict[str, Any]:
        """As the API tells it: never a secret."""
        if kind == "notification_templates":
            kept = item["notification_configuration"]
            hidden = {name: "$encrypted$" for name in SECRETS[item["notification_type"]] if kept.get(name)}
            return {**item, "notification_configuration": {**kept, **hidden}}
        if kind != "credentials":
            return item
        fields = self.kinds["credential_types"][item["credential_type"]]["inputs"].get("fields", [])
        secret = {field["id"] for field in fields if field.get("secret")}
        inputs = {name: "$encrypted$" if name in secret else value for name, value in item.get("inputs", {}).items()}
        return {**item, "inputs": inputs}

    def linked(self, kind: str, name: str, association: str) -> list[str]:
        """The names of what was associated."""
        target = ASSOCIATIONS[kind][association]
        numbers = self.links.get((kind, self.named(kind, name)["id"], association), [])
        found = [self.kinds[target][number] for number in numbers]
        return sorted(str(item.get("identifier", item.get("name"))) for item in found)


class AwxDouble:
    def __init__(self, project_folder: Path) -> None:
        self.store = Store(project_folder)
        self.writes: list[str] = []
        self.refusals: list[Any] = []
        self.syncs = Syncs(self.store)
        self.launches = Launches(self.store)
        double = self

        class Handler(_Handler):
            awx = double

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> AwxDouble:
        self._thread.start()
        return self

    def __exit__(self, *_about: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str]:
        return {
            "CONTROLLER_HOST": f"http://127.0.0.1:{self._server.server_address[1]}",
            "CONTROLLER_OAUTH_TOKEN": TOKEN,
        }

    # -- one request: (status, body)

    def get(self, path: list[str], query: dict[str, str]) -> tuple[int, Any]:
        if path == ["me"]:
            return 200, _page([{"id": 1, "type": "user", "username": "admin"}])
        if path[0] == "project_updates":
            return 200, self.syncs.look(int(path[1]))
        if path[0] in ("workflow_jobs", "jobs"):
            return 200, self._launched(path, query)
        if "organization__name" in query:
            query["organization"] = str(self.store.named("organizations", query.pop("organization__name"))["id"])
        if len(path) == 1:
            found = [item for item in self.store.list(path[0]) if _matches(item, query)]
            return 200, _page([self.store.shown(path[0], item) for item in found])
        item = self._item(path)
        if len(path) == 2:
            return 200, item
        if path[2] == "survey_spec":
            return 200, item.get("survey_spec", {})
        numbers = self.store.links.get((path[0], item["id"], self._association(path)), [])
        return 200, _page([{"id": number} for number in numbers])

    def post(self, path: list[str], body: dict[str, Any]) -> tuple[int, Any]:
        if path == ["bulk", "job_launch"]:
            return 201, self.launches.bulk(body)
        if len(path) == 1:
            return 201, self._create(path[0], body)
        if path[0] == "jobs" and path[2:] == ["cancel"]:
            self.launches.cancel(self.launches.jobs[int(path[1])])
            return 202, None
        item = self._item(path)
        if path[2] == "survey_spec":
            check_survey(body)
            item["survey_spec"] = body
            return 200, {}
        if path[2] == "update" and path[0] == "projects":
            return 202, self.syncs.start(item)
        if path[2] == "update" and path[0] == "inventory_sources":
            return 202, self.syncs.start_source(item)
        if path[2] == "launch" and path[0] == "workflow_job_templates":
            return 201, self.launches.workflow(item, body)
        if path[2] == "create_approval_template":
            template = self._create("workflow_approval_templates", body)
            item["unified_job_template"] = template["id"]
            item["related"]["unified_job_template"] = template["url"]
            return 201, template
        self._link(path, item, body)
        return 204, None

    def patch(self, path: list[str], body: dict[str, Any]) -> tuple[int, Any]:
        item = self._item(path)
        changed = {**item, **fields_to_keep(body)}
        check_object(self.store, path[0], changed)
        check_name(self.store, path[0], changed)
        item.update(changed)
        return 200, dict(self.store.shown(path[0], item))

    def delete(self, path: list[str]) -> tuple[int, Any]:
        number = self._item(path)["id"]
        del self.store.kinds[path[0]][number]
        for (kind, _of, association), linked in self.store.links.items():
            if ASSOCIATIONS[kind][association] == path[0] and number in linked:
                linked.remove(number)
        return 204, None

    def _item(self, path: list[str]) -> dict[str, Any]:
        item = self.store.kinds.get(path[0], {}).get(int(path[1]))
        if item is None:
            raise NotThere
        return item

    def _association(self, path: list[str]) -> str:
        if path[2] not in ASSOCIATIONS.get(path[0], {}):
            raise NotThere
        return path[2]

    def _create(self, kind: str, body: dict[str, Any]) -> dict[str, Any]:
        kept = fields_to_keep(body)
        check_object(self.store, kind, kept)
        organization = {}
        if kind == "job_templates":
            organization = {"organization": self.store.kinds["projects"][kept["project"]].get("organization")}
        check_name(self.store, kind, {**kept, **organization})
        if kind != "projects":
            return self.store.add(kind, kept)
        item = self.store.add(kind, {**kept, "scm_revision": "", "status": "pending"})
        # A new project is fetched at once.
        self.syncs.start(item)
        return item

    def _launched(self, path: list[str], query: dict[str, str]) -> Any:
        if self.launches.unanswered:
            self.launches.unanswered -= 1
            raise Unanswered
        if len(path) == 1:
            known = self.launches.listed() if path[0] == "workflow_jobs" else self.launches.jobs.values()
            return _page([item for item in known if _matches(item, query)])
        if path[0] == "jobs":
            job = self.launches.jobs[int(path[1])]
            return {"can_cancel": not job["finished"]} if path[2:] == ["cancel"] else job
        workflow_job = self.launches.look(int(path[1]))
        if len(path) == 2:
            return {name: value for name, value in workflow_job.items() if name not in ("jobs", "nodes")}
        return _page(workflow_job["nodes"])

    def _link(self, path: list[str], item: dict[str, Any], body: dict[str, Any]) -> None:
        association = self._association(path)
        if (
            not set(body) <= {"id", "disassociate"}
            or self.store.find(ASSOCIATIONS[path[0]][association], body["id"]) is None
        ):
            raise Refused({"detail": f"Can't associate {body}"})
        linked = self.store.links.setdefault((path[0], item["id"], association), [])
        linked.remove(body["id"]) if body.get("disassociate") else linked.append(body["id"])


def _page(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {"count": len(results), "next": None, "previous": None, "results": results}


def _matches(item: dict[str, Any], query: dict[str, str]) -> bool:
    either = {name.removeprefix("or__"): value for name, value in query.items() if name.startswith("or__")}
    every = {name: value for name, value in query.items() if not name.startswith("or__") and name != "page_size"}
    for name, value in every.items():
        wanted = value.split(",") if name.endswith("__in") else [value]
        if str(item.get(name.removesuffix("__in"))) not in wanted:
            return False
    return not either or any(str(item.get(name)) == value for name, value in either.items())


class _Handler(http.server.BaseHTTPRequestHandler):
    awx: AwxDouble
    protocol_version = "HTTP/1.1"

    def log_message(self, *_about: object) -> None:
        pass

    def do_GET(self) -> None:
        self._handle("get")

    def do_POST(self) -> None:
        self._handle("post")

    def do_PATCH(self) -> None:
        self._handle("patch")

    def do_DELETE(self) -> None:
        self._handle("delete")

    def _handle(self, method: str) -> None:
        parts = urllib.parse.urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self._answer(401, {"detail": "Authentication credentials were not provided."})
            return
        path = re.sub("^/api/v2/", "", parts.path).strip("/").split("/")
        try:
            if method == "get":
                status, answer = self.awx.get(path, dict(urllib.parse.parse_qsl(parts.query)))
            else:
                if method == "delete":
                    status, answer = self.awx.delete(path)
                else:
                    status, answer = getattr(self.awx, method)(path, json.loads(body or b"{}"))
                self.awx.writes.append(f"{method.upper()} {'/'.join(path)}")
        except NotThere:
            status, answer = 404, {"detail": "Not found."}
        except Unanswered:
            status, answer = 502, {"detail": "Bad gateway."}
        except Refused as refused:
            self.awx.refusals.append(refused.args[0])
            status, answer = 400, refused.args[0]
        self._answer(status, answer)

    def _answer(self, status: int, answer: Any) -> None:
        content = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-API-Product-Name", "AWX")
        self.send_header("X-API-Product-Version", VERSION)
        self.end_headers()
        self.wfile.write(content)
