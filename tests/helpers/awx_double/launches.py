# Copyright: (c) 2026, maintenance.azure contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What AWX does in its own time: fetches projects, not always with success, and runs workflow jobs and their jobs."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from helpers.awx_double.rules import Refused, job_variables, missing_answers, sorted_out

MOST_BULK_JOBS = 100
_JOB_FIELDS = {"unified_job_template", "identifier", "limit", "extra_data", "job_type"}
_BULK_FIELDS = {"name", "description", "jobs", "organization", "inventory", "limit", "extra_vars"}
_PROMPTS = {"limit": ("ask_limit_on_launch", ""), "job_type": ("ask_job_type_on_launch", "run")}


class Launches:
    def __init__(self, store: Any) -> None:
        self._store = store
        self.workflow_jobs: dict[int, dict[str, Any]] = {}
        self.jobs: dict[int, dict[str, Any]] = {}
        # Who launches: anybody but a superuser has to belong to the organization.
        self.superuser = True
        self.member_of: list[int] = []
        # How many of the next questions about what was launched AWX does not answer.
        self.unanswered = 0
        # What becomes of the jobs; with `run`, what that says of each, in a thread of its own.
        self.jobs_fail = False
        self.run: Callable[[dict[str, Any]], bool] | None = None
        # What happens between the launch and the jobs, such as that somebody edits the template.
        self.meanwhile: Callable[[], None] = lambda: None
        # How often somebody has to look until a job without `run` has ended.
        self.looks_until_the_end = 1

    # -- launching

    def bulk(self, body: dict[str, Any]) -> dict[str, Any]:
        """AWX checks that the templates are there, and nothing of what the jobs are told."""
        if unknown := set(body) - _BULK_FIELDS:
            raise Refused({"detail": f"A bulk launch has no {sorted(unknown)}"})
        if len(body["jobs"]) > MOST_BULK_JOBS:
            raise Refused({"detail": "Number of requested jobs exceeds system setting BULK_JOB_MAX_LAUNCH"})
        names = [job["identifier"] for job in body["jobs"] if "identifier" in job]
        if len(set(names)) < len(names):
            raise Refused({"detail": "Identifier not unique"})
        for job in body["jobs"]:
            if unknown := set(job) - _JOB_FIELDS:
                # AWX passes over it.
                raise Refused({"detail": f"A job of a bulk launch has no {sorted(unknown)}"})
            template = self._store.find("job_templates", job["unified_job_template"])
            if template is None:
                raise Refused({"detail": "Job Templates not found or you don't have permissions to access it"})
            if len(body["jobs"]) > 1 and not template.get("allow_simultaneous"):
                # AWX takes it, and runs one after the other: not what a fan-out is for.
                raise Refused({"detail": "This template runs one job at a time"})
        self._check_organization(body.get("organization"))
        return self._new_workflow_job(None, body["jobs"], body.get("extra_vars", {}))

    def workflow(self, template: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """Whoever launches a workflow is told what is wrong with the answers."""
        given = body.get("extra_vars", {})
        _taken, problems = sorted_out(template, given)
        if problems := problems + missing_answers(template, given):
            raise Refused({"variables_needed_to_start": problems})
        return self._new_workflow_job(template["id"], [], given)

    def _check_organization(self, number: int | None) -> None:
        if self.superuser or number in self.member_of:
            return
        if number is not None:
            raise Refused([f"Organization {number} not found or you don't have permissions to access it"])
        if not self.member_of:
            raise Refused(
                ["User not part of any organization, please assign an organization to assign to the bulk job"]
            )
        if len(self.member_of) > 1:
            raise Refused(["User has permission to multiple Organizations, please set one of them in the request"])

    def _new_workflow_job(
        self, template: int | None, jobs: list[dict[str, Any]], variables: dict[str, Any]
    ) -> dict[str, Any]:
        number = self._store.new_id()
        self.workflow_jobs[number] = {
            "id": number,
            "url": f"/api/v2/workflow_jobs/{number}/",
            "status": "pending",
            "finished": None,
            "failed": False,
            "unified_job_template": template,
            "extra_vars": json.dumps(variables),
            "jobs": jobs,
            "nodes": [],
        }
        return dict(self.workflow_jobs[number])

    # -- looking

    def listed(self) -> list[dict[str, Any]]:
        """A bulk job, which has no template, is listed to superusers and organization admins only."""
        return [job for job in self.workflow_jobs.values() if self.superuser or job["unified_job_template"]]

    def look(self, number: int) -> dict[str, Any]:
        """The jobs are made some time after the launch, and end some time after that."""
        workflow_job = self.workflow_jobs[number]
        if workflow_job["status"] == "pending":
            workflow_job["status"] = "running"
            self.meanwhile()
            workflow_job["nodes"] = [self._start(number, job) for job in workflow_job["jobs"]]
            return workflow_job
        jobs = [self.jobs[node["job"]] for node in workflow_job["nodes"]]
        for job in jobs:
            self._move_on(job)
        if jobs and all(job["finished"] for job in jobs):
            failed = any(job["failed"] for job in jobs)
            status = "failed" if failed else "successful"
            workflow_job.update(status=status, failed=failed, finished="2026-11-16T00:00:00Z")
        return workflow_job

    def _start(self, workflow_job: int, asked: dict[str, Any]) -> dict[str, Any]:
        template = self._store.kinds["job_templates"][asked["unified_job_template"]]
        over = json.loads(self.workflow_jobs[workflow_job]["extra_vars"])
        number = self._store.new_id()
        # What a template does not ask for stays as it is there.
        prompts = {
            name: asked[name] if name in asked and template.get(ask) else template.get(name, default)
            for name, (ask, default) in _PROMPTS.items()
        }
        job = {
            "id": number,
            "url": f"/api/v2/jobs/{number}/",
            "related": {"cancel": f"/api/v2/jobs/{number}/cancel/"},
            "name": template["name"],
            "status": "running" if self.run else "pending",
            "finished": None,
            "failed": False,
            "extra_vars": json.dumps(job_variables(template, asked.get("extra_data", {}), over)),
            **prompts,
        }
        self.jobs[number] = job
        if self.run:
            threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return {"id": number, "identifier": asked.get("identifier", str(number)), "job": number}

    def _run(self, job: dict[str, Any]) -> None:
        assert self.run is not None
        self._end(job, not self.run(job))

    def _move_on(self, job: dict[str, Any]) -> None:
        job["looks"] = job.get("looks", 0) + 1
        if self.run is None and job["looks"] >= self.looks_until_the_end and not job["finished"]:
            self._end(job, self.jobs_fail)

    def cancel(self, job: dict[str, Any]) -> None:
        self._end(job, True)
        job["status"] = "canceled"

    @staticmethod
    def _end(job: dict[str, Any], failed: bool) -> None:
        job.update(failed=failed, status="failed" if failed else "successful", finished="2026-11-16T00:00:00Z")


RUNNING = ("new", "pending", "waiting", "running")


class Syncs:
    """How projects are fetched. Before that AWX knows none of their playbooks."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self._updates: dict[int, dict[str, Any]] = {}
        # What becomes of the next ones: "successful", "failed", or "pending" for one that never ends.
        self.outcomes: list[str] = []
        # The head of the branch, which somebody may push to.
        self.revision = "1111111"
        self.looks = 0

    def start(self, project: dict[str, Any]) -> dict[str, Any]:
        outcome = self.outcomes.pop(0) if self.outcomes else "successful"
        if (self._store.project_folder / "collections" / "requirements.yml").exists():
            # There is no Galaxy where the double is.
            outcome = "failed"
        number = self._store.new_id()
        update = {"id": number, "project": project["id"], "outcome": outcome, "looks": 0, "status": "pending"}
        self._updates[number] = {**update, "url": f"/api/v2/project_updates/{number}/"}
        project["summary_fields"]["current_update"] = {"id": number}
        return self.shown(number)

    def start_source(self, source: dict[str, Any]) -> dict[str, Any]:
        """AWX always fetches the project before it updates a source from it."""
        return self.start(self._store.kinds["projects"][source["source_project"]])

    def a_job_can_begin(self) -> bool:
        """What is updated before each job, and whether that succeeds."""
        updates = [self.start(one) for one in self._store.list("projects") if one.get("scm_update_on_launch")]
        updates += [
            self.start_source(one) for one in self._store.list("inventory_sources") if one.get("update_on_launch")
        ]
        return all(self._updates[update["id"]]["outcome"] == "successful" for update in updates)

    def look(self, number: int) -> dict[str, Any]:
        """Somebody asks how it goes. The second time it is done."""
        self.looks += 1
        update = self._updates[number]
        update["looks"] += 1
        if update["looks"] >= 2 and update["status"] in RUNNING:
            self._end(update)
        return self.shown(number)

    def _end(self, update: dict[str, Any]) -> None:
        project = self._store.kinds["projects"][update["project"]]
        if update["outcome"] == "pending":
            return
        update["status"] = project["status"] = update["outcome"]
        project["summary_fields"].pop("current_update", None)
        if update["outcome"] == "successful":
            project["scm_revision"] = self.revision

    def shown(self, number: int) -> dict[str, Any]:
        update = self._updates[number]
        project = self._store.kinds["projects"][update["project"]]
        over = update["status"] not in RUNNING
        return {
            **{name: update[name] for name in ("id", "url", "status")},
            "failed": update["status"] == "failed",
            "finished": "2026-11-16T00:00:00Z" if over else None,
            "event_processing_finished": over,
            "scm_revision": project["scm_revision"],
        }
