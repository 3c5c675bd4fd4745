"""The loop of one supervisor: plan, apply, decide, start and stop pods, publish the status.

`lifecycle.plan` says what the TrainJob needs, `jobset.decide` what its pods do; this class executes
both, and wakes when a pod changed, the user wants something else, or time has come.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle import plan as lifecycle
from trainer_infra.local import (
    disk_use,
    installation,
    network,
    packages,
    pod_environment,
    pod_setup,
    pod_wire_form,
    run_folder,
    sources,
)
from trainer_infra.local.children import Children
from trainer_infra.local.endpoint import ProgressEndpoint
from trainer_infra.local.jobset import decide, pods
from trainer_infra.local.jobset.decide import JobSetState
from trainer_infra.local.jobset.pods import PodPhase, Start
from trainer_infra.local.metrics_file import MetricsFile
from trainer_infra.local.pod import PodCallbacks, PodSetup, PodTry
from trainer_infra.local.pod_environment import PodContext
from trainer_infra.local.pod_setup import PodFolders
from trainer_infra.local.pod_wire_form import ObservedTry
from trainer_infra.local.run_folder import RunFolder
from trainer_infra.render import plugin_registry, resolve
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.runs import report_history, sentences, view
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.run import Run, run_from_json, run_to_json
from trainer_infra.runs.view import Observation

REPORT_PAUSE: Final = 0.2
"""Seconds for which reports are gathered before the status is written."""
INSTALL_PAUSES: Final = (0.5, 5.0)
"""Seconds between two looks at how far an installation is, first and at last: a log has each."""
ROUNDS: Final = 5
"""Plan and decision settle within two rounds; more than this is a mistake."""


class Reconciler:
    """Runs one TrainJob to its end."""

    def __init__(self, target: RunFolder, children: Children) -> None:
        self._folder = target
        self._children = children
        self._record: Mapping[str, Any] = run_folder.read_json(target.record) or {}
        self._run: Run = run_from_json(run_folder.read_json(target.run) or {})
        self._begun = conditions.timestamp(datetime.now(UTC))
        """When this try began: its deadline counts from there, as that of a TrainJob which is made anew."""
        self._runtime = _runtime(self._record["runtime"])
        self._objects: dict[tuple[str, str], JSONObject] = {}
        self._jobset: JSONObject | None = None
        self._state = JobSetState()
        self._status: JSONObject = {}
        self._tries: list[PodTry] = []
        self._ports: dict[int, int] = {}
        self._held = ExitStack()
        self._behaviour = Behaviour(plugin_registry.plugins_with(self._record["plugins"]))
        self._python: Mapping[str, str] | None = None
        self._waiting_for = ""
        self._hidden = Redaction()
        self._awake = asyncio.Event()
        self._stopping = False
        self._history = MetricsFile(target.metrics)
        self._endpoint = ProgressEndpoint(
            self._run.namespace, self._run.name, target.progress, self._reported
        )
        for each in self._record["objects"]:
            if each["kind"] != "JobSet":
                self._keep(each)

    async def run(self) -> None:
        """Run to the end, or until `stop`; afterwards no process of a pod is left."""
        self._publish()
        try:
            await self._endpoint.start()
        except OSError as error:
            self._not_written(self._folder.progress, error)
        install = asyncio.get_running_loop().create_task(self._install())
        try:
            while not self._stopping:
                self._awake.clear()
                delay = self._settle()
                self._publish()
                if self._finished() and all(each.ended for each in self._tries):
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(delay):
                        await self._awake.wait()
                if install.done():
                    install.result()
        finally:
            install.cancel()
            await asyncio.wait([install])
            self._endpoint.close()
            for each in self._tries:
                each.stop()
            for each in self._tries:
                await each.wait()
            self._held.close()

    def stop(self) -> None:
        """End all pods and return from `run`, whatever the status."""
        self._stopping = True
        self._awake.set()

    def wake(self) -> None:
        """Look again: the user wants something else, or a pod changed."""
        self._awake.set()

    def fail(self, reason: str, message: str) -> None:
        """End the run as Failed for a reason that no JobSet reports; the first one counts."""
        current = self._status.get("conditions") or ()
        if not conditions.is_finished(current):
            failed = conditions.new_condition(names.FAILED, reason, message, datetime.now(UTC))
            self._status = {
                **self._status,
                "conditions": list(conditions.with_condition(current, failed)),
            }
        self._awake.set()

    async def _install(self) -> None:
        """Make the job's Python; pods start when it is there."""
        wanted = self._record["packages"]
        telling = asyncio.get_running_loop().create_task(self._tell_installation(wanted))
        try:
            venv = await packages.ready_environment(wanted, self._children, self._run.uid)
            self._python = packages.python_variables(venv)
        except NotAvailable as error:
            self.fail(names.INSTALL_FAILED, str(error))
        except OSError as error:
            self._not_written(packages.environment_folder(wanted), error)
        finally:
            telling.cancel()
        self._waiting_for = ""
        self.wake()

    async def _tell_installation(self, wanted: Sequence[str]) -> None:
        """Say how far the installation is, until it is cancelled or the packages are there."""
        pause, longest = INSTALL_PAUSES
        while wanted and not packages.is_whole(packages.environment_folder(wanted)):
            said = installation.installation_progress(packages.environment_folder(wanted), wanted)
            if said != self._waiting_for:
                self._waiting_for = said
                self.wake()
            await asyncio.sleep(pause)
            pause = min(longest, 1.5 * pause)

    def _settle(self) -> float | None:
        """Plan and decide until nothing changes; seconds until the next look."""
        delays: tuple[float | None, ...] = ()
        for _ in range(ROUNDS):
            before = (self._status, self._jobset, len(self._tries))
            delays = (self._plan(), self._decide())
            if before == (self._status, self._jobset, len(self._tries)):
                break
        return min((each for each in delays if each is not None), default=None)

    def _plan(self) -> float | None:
        observed_pods = self._pods()
        if self._jobset is not None:
            report = view.leading_report(self._jobset, observed_pods, self._endpoint.reports)
            if report is not None:
                self._status = {**self._status, "trainerStatus": report}
        now = datetime.now(UTC)
        observed = ObservedObjects(self._jobset, pods=observed_pods)
        plan = lifecycle.plan(self._job(), self._runtime, observed, now, self._behaviour)
        for each in (*plan.create, *plan.apply):
            self._keep(each)
        if any(each.kind == names.JOBSET for each in plan.delete):
            self._jobset = None
        if plan.status is not None:
            self._status = plan.status
        for event in plan.events:
            if event.reason == names.EVENT_CREATION_FAILED:
                self.fail(event.reason, event.message)
        return plan.requeue_after

    def _job(self) -> TrainJob:
        """The TrainJob as the user wants it now, with its status."""
        job = self._record["job"]
        given = {"uid": self._run.uid, "creationTimestamp": self._begun}
        wish = run_folder.read_json(self._folder.control) or {}
        return TrainJob.model_validate(
            {
                **job,
                "metadata": {**job["metadata"], **given},
                "spec": {**job["spec"], **wish},
                "status": self._status or None,
            }
        )

    def _keep(self, value: JSONObject) -> None:
        """Apply an object: a JobSet keeps its status, others are what env and volumes read."""
        if value["kind"] == "JobSet":
            self._jobset = {**value, "status": (self._jobset or {}).get("status") or {}}
        else:
            self._objects[value["kind"], value["metadata"]["name"]] = value

    def _decide(self) -> float | None:
        """Start and stop pods; seconds until the next look."""
        jobset = self._jobset
        if self._finished() or jobset is None:
            for each in self._tries:
                each.stop()
        if self._python is None or jobset is None or self._ended_otherwise(jobset):
            return None
        tries = tuple(each.pod for each in self._tries)
        now = datetime.now(UTC)
        name = jobset["metadata"]["name"]
        decision = decide.decide(name, jobset["spec"], tries, self._state, now)
        self._state = decision.state
        self._jobset = {**jobset, "status": decision.status}
        for each in self._tries:
            if each.pod.id in decision.stop and each.pod.phase is PodPhase.RUNNING:
                each.stop()
        for start in decision.start:
            if start.not_before <= now:
                self._start(start)
        return decision.wake_after

    def _start(self, start: Start) -> None:
        if start.attempt not in self._ports:
            self._ports[start.attempt] = self._held.enter_context(network.reserved_port())
        manifest = pods.manifest(self._jobset or {}, start)
        log = self._folder.logs / f"{manifest['metadata']['name']}.log"
        data = run_folder.read_json(self._folder.secrets) or {}
        hidden = Redaction.of(data)
        self._hidden |= hidden
        hooks = PodCallbacks(self.wake, self._not_written, hidden)
        started = PodTry(start, log, self._children, hooks)
        self._tries.append(started)
        started.begin(partial(self._prepare, manifest, start, data))

    def _prepare(self, manifest: JSONObject, start: Start, data: Mapping[str, str]) -> PodSetup:
        """The pod with the secrets as they are now, and the network of its attempt."""
        run, name = self._run, manifest["metadata"]["name"]
        spec = (self._jobset or {})["spec"]
        secret = f"{run.name}{names.SECRET_SUFFIX}"
        reports = start.id.job in resolve.trainer_jobs(spec)
        place = PodContext(
            pod=manifest,
            sources=sources.object_sources(self._objects.values(), secret, data),
            network=network.loopback_network(
                pods.host_names(run.name, spec), run.namespace, self._ports[start.attempt]
            ),
            machine={
                **pod_environment.inherited_environment(),
                **(self._python or {}),
                **(self._endpoint.variables(name) if reports else {}),
            },
        )
        attempt = f"{start.attempt}-{start.retry}"
        mark = f"{run.uid}/{name}/{attempt}"
        ground = PodFolders(self._folder.pods / name / attempt, self._folder.claims, mark)
        return pod_setup.prepare_pod(place, ground)

    def _finished(self) -> bool:
        return conditions.is_finished(self._status.get("conditions") or ())

    def _ended_otherwise(self, jobset: JSONObject) -> bool:
        """Whether the run ended although the JobSet itself did not: it decides nothing more."""
        theirs = jobset["status"].get("conditions") or ()
        return self._finished() and not (
            conditions.is_true(theirs, "Completed") or conditions.is_true(theirs, names.FAILED)
        )

    def _publish(self) -> None:
        """Write the status when it changed; a full disk ends the run, and is written too."""
        for _ in range(2):
            seen = view.current_run(self._run, self._observation(), datetime.now(UTC))
            now = self._hidden.run(seen)
            if now == self._run and self._folder.status.exists():
                return
            try:
                run_folder.write_json(self._folder.status, run_to_json(now))
            except OSError as error:
                self._not_written(self._folder.status, error)
            else:
                self._run = now
                return

    def _observation(self) -> Observation:
        tries = self._tried()
        return Observation(
            jobset=self._jobset,
            status=self._status,
            pods=self._pods(),
            ended=pod_wire_form.wire_pods(self._jobset, tries, 0),
            suspended=self._state.suspensions,
            planned=pod_wire_form.planned_pods(self._jobset),
            lines=pod_wire_form.last_lines(self._jobset, tries, self._state.run),
            reports=self._endpoint.reports,
            surroundings=None,
            waiting_for=self._waiting_for,
        )

    def _pods(self) -> tuple[JSONObject, ...]:
        return pod_wire_form.wire_pods(self._jobset, self._tried(), self._state.run)

    def _tried(self) -> tuple[ObservedTry, ...]:
        return tuple(ObservedTry(each.pod, each.last_lines) for each in self._tries)

    def _not_written(self, path: Path, error: OSError) -> None:
        """End the run because the disk is full; the reserve makes room for saying so.

        Raises:
            OSError: The disk is not full: another error, which no caller can handle.
        """
        if not disk_use.is_full(error):
            raise error
        self._folder.reserve.unlink(missing_ok=True)
        self.fail(names.DISK_FULL, disk_use.full_disk_message(path, error))

    def _reported(self, pod: str, status: JSONObject) -> None:
        report = report_history.past_report(sentences.short_pod_name(self._run, pod), status)
        if report.says_something:
            self._history.add(replace(report, metrics=self._hidden.texts(report.metrics)))
        asyncio.get_running_loop().call_later(REPORT_PAUSE, self.wake)


def _runtime(value: JSONObject) -> Runtime:
    kind = TrainingRuntime if value["kind"] == names.TRAINING_RUNTIME else ClusterTrainingRuntime
    return kind.model_validate(value)
