"""What Kubeflow Trainer's controller does in a cluster, for tests on an API server without one.

It makes the JobSet of each TrainJob as `render` like the reference's does, and copies what that says into
the TrainJob's status (reference behaviour 4.6 and 4.7).
"""

import threading
from typing import Any

from typing_extensions import override

from from_source.cluster.client import Client
from tests.cluster.world import World, ok
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.controller.engine_controller import ControlledCluster
from trainer_infra.cluster.session import Session
from trainer_infra.kube.request_retry import Patience
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import REFERENCE
from trainer_infra.runs.run import Run, Submission

JSON = dict[str, Any]
ENDS = {"Completed": "Complete", "Failed": "Failed"}


class ReconciledCluster(ControlledCluster):
    """Engine `controller` on a cluster whose controller is done whenever it is asked."""

    def __init__(self, kubeconfig: str, world: World) -> None:
        super().__init__(kubeconfig)
        self.world = world
        self._one_at_a_time = threading.Lock()
        self.stopped = False
        """Whether the controller does nothing."""

    @override
    def submit(self, submission: Submission, *, adopt: bool = False, timeout: float = 20) -> Run:
        made = super().submit(submission, adopt=adopt, timeout=timeout)
        found = self.get(made.namespace, made.name)
        assert found is not None
        return found

    @override
    def _here(self, patience: Patience | None = None) -> Session:
        with self._one_at_a_time:
            if not self.stopped:
                reconcile(self.world)
        return super()._here(patience)


def install_runtimes(client: Client) -> None:
    """The runtimes of the catalog, as a platform has them."""
    path = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
    for each in catalog.RUNTIMES:
        answer = client.create(path, each.runtime().to_wire())
        assert answer.status in {201, 409}, answer


def reconcile(world: World) -> None:
    """What the controller makes of every TrainJob of the namespace."""
    for name in world.names("TrainJob"):
        job = world.there("TrainJob", name)
        if "deletionTimestamp" in job["metadata"] or _is_finished(job):
            continue
        jobset = world.get("JobSet", name)
        if jobset is None:
            rendered = pipeline.render(_typed(job), _runtime(world, job), REFERENCE)
            jobset = world.make("JobSet", dict(rendered[-1]))
        elif bool(jobset["spec"].get("suspend")) != bool(job["spec"].get("suspend")):
            jobset["spec"]["suspend"] = bool(job["spec"].get("suspend"))
            jobset = ok(world.client.replace(world.path("JobSet", name), jobset))
        status = _status(job, jobset)
        if status and status != job.get("status"):
            world.status("TrainJob", name, status)


def _typed(job: JSON) -> TrainJob:
    kept = ("name", "namespace", "uid", "labels", "annotations")
    metadata = {key: job["metadata"][key] for key in kept if key in job["metadata"]}
    rest = {key: job[key] for key in ("apiVersion", "kind", "spec")}
    return TrainJob.from_wire({**rest, "metadata": metadata})


def _runtime(world: World, job: JSON) -> ClusterTrainingRuntime:
    stored = world.there("ClusterTrainingRuntime", job["spec"]["runtimeRef"]["name"])
    metadata = {
        key: stored["metadata"][key] for key in ("name", "labels") if key in stored["metadata"]
    }
    return ClusterTrainingRuntime.from_wire({**stored, "metadata": metadata})


def _is_finished(job: JSON) -> bool:
    found = (job.get("status") or {}).get("conditions") or ()
    return any(each["type"] in ENDS.values() and each["status"] == "True" for each in found)


def _status(job: JSON, jobset: JSON) -> JSON:
    before = dict(job.get("status") or {})
    found = {each["type"]: each for each in before.get("conditions") or ()}
    now = "2026-11-21T12:00:30Z"
    if job["spec"].get("suspend"):
        new = {"status": "True", "reason": "Suspended", "message": names.SUSPENDED_MESSAGE}
        found["Suspended"] = {"type": "Suspended", "lastTransitionTime": now, **new}
    elif found.get("Suspended", {}).get("status") == "True":
        new = {"status": "False", "reason": "Resumed", "message": names.RESUMED_MESSAGE}
        found["Suspended"] = {"type": "Suspended", "lastTransitionTime": now, **new}
    theirs = jobset.get("status") or {}
    for each in theirs.get("conditions") or ():
        if each["type"] in ENDS and each["status"] == "True":
            found[ENDS[each["type"]]] = {**each, "type": ENDS[each["type"]]}
    counts = theirs.get("replicatedJobsStatus")
    status = {**before, **({"jobsStatus": counts} if counts else {})}
    return {**status, "conditions": list(found.values())} if found else status
