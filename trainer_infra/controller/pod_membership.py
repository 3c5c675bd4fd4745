"""Which TrainJob a pod is part of: pod -> Job -> JobSet -> TrainJob, each link checked.

KEP-2779 asks that the pod of a token belongs to the TrainJob that it reports for. A user of the
namespace can lie about that in several ways; RBAC stops none of them where the user may create
pods, for Kubernetes lets any creator write any label and any ownerReference:

- A label alone, `jobset.sigs.k8s.io/jobset-name`, on a pod of one's own: not believed. The pod's
  controller must be a Job, by uid.
- A pod with an ownerReference to a real Job: the pod must also match the Job's selector, which the API
  server makes from the Job's uid. Then it is a pod of that Job for the Job controller too, which counts
  it and deletes one too many, the one that has got least far; it can report until then, and while the
  verdict on its token is kept. A lie that lasts has to take a training pod's place in the Job, and who
  can do that runs the training.
- A Job of one's own with an ownerReference to a real JobSet: its name must be one that the JobSet's
  specification makes. Names are unique, so it takes the place of the JobSet's own Job, as above.
- A JobSet of one's own with an ownerReference to a TrainJob: it must have the TrainJob's name. There
  is one JobSet of that name, and it is what runs.
- A pod of an earlier TrainJob of the same name: the TrainJob's uid goes with the report, and
  `trainer_status_store` refuses it when the TrainJob has another one.

What remains: a user who may create tokens of service accounts (`serviceaccounts/token`), run commands
in a training pod or change these objects can report as that pod. Each of these rights gives the token, or
the training itself, away.

A pod costs one read, and each Job two, because all pods of a Job have the rest of the way in common.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.controller.answer_cache import AnswerCache
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import JOB, JOBSET, POD, TRAIN_JOB, Resource

KEPT: Final = 3600.0
"""Seconds for which the way from a pod or a Job to its TrainJob is kept: both are known by uid."""
REFUSAL_KEPT: Final = 10.0
"""Seconds for which it is kept that there is no way."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """One pod, as a token names it."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class _JobMembership:
    """How the pods of a Job are known, and where they belong."""

    selector: Mapping[str, str]
    train_job_uid: str


class PodMembership:
    """Looks up what a pod is part of; belongs to one event loop.

    The client may read pods, Jobs and JobSets of every namespace, and has so many seconds for each request.
    So many pods, and Jobs, are remembered; the clock's seconds never go back.
    """

    def __init__(
        self, client: KubeClient, within: float, most: int, clock: Callable[[], float]
    ) -> None:
        self._client = client
        self._within = within
        self._pods: AnswerCache[str] = AnswerCache(most, clock)
        self._jobs: AnswerCache[_JobMembership] = AnswerCache(most, clock)

    async def train_job_uid(self, pod: PodIdentity, name: str) -> str | None:
        """The uid of the TrainJob of that name that the pod is part of; None when it is of none.

        Whether the TrainJob still exists is not asked.

        Raises:
            TrainerInfraError: The API server does not answer.
            TimeoutError: The same.
        """

        async def ask() -> tuple[str | None, float]:
            found = await self._of_pod(pod, name)
            return found, KEPT if found else REFUSAL_KEPT

        return await self._pods.answer((pod, name), ask)

    async def _of_pod(self, identity: PodIdentity, name: str) -> str | None:
        pod = await self._get(POD, identity.name, identity.namespace, identity.uid)
        labels = (pod.get("metadata") or {}).get("labels") or {}
        owner = _controller(pod, JOB)
        if labels.get(names.JOBSET_NAME_LABEL) != name or owner is None:
            return None

        async def ask() -> tuple[_JobMembership | None, float]:
            found = await self._of_job(identity.namespace, owner, name)
            return found, KEPT if found else REFUSAL_KEPT

        job = await self._jobs.answer((identity.namespace, owner["uid"], name), ask)
        return job.train_job_uid if job and job.selector.items() <= labels.items() else None

    async def _of_job(self, namespace: str, owner: JSONObject, name: str) -> _JobMembership | None:
        job = await self._get(JOB, owner["name"], namespace, owner["uid"])
        selector = ((job.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        above = _controller(job, JOBSET)
        if not selector or above is None or above["name"] != name:
            return None
        jobset = await self._get(JOBSET, name, namespace, above["uid"])
        train_job = _controller(jobset, TRAIN_JOB)
        if owner["name"] not in _job_names(jobset) or train_job is None:
            return None
        return _JobMembership(selector, train_job["uid"]) if train_job["name"] == name else None

    async def _get(self, resource: Resource, name: str, namespace: str, uid: str) -> JSONObject:
        """The object of that uid; an empty one where there is none, which belongs nowhere."""
        try:
            found = await self._client.within(self._within).get(resource, name, namespace)
        except NotFound:
            return {}
        return found if found["metadata"].get("uid") == uid else {}


def _controller(value: JSONObject, resource: Resource) -> JSONObject | None:
    """The reference to the object that controls this one, where it is of that kind."""
    wanted = (resource.api_version.partition("/")[0], resource.kind)
    for each in (value.get("metadata") or {}).get("ownerReferences") or ():
        if (
            each.get("controller")
            and (each["apiVersion"].partition("/")[0], each["kind"]) == wanted
        ):
            found: JSONObject = each
            return found
    return None


def _job_names(jobset: JSONObject) -> Iterator[str]:
    """The Jobs that a JobSet makes (JobSet v0.12): `<jobset>-<replicated job>-<index>`."""
    name = (jobset.get("metadata") or {}).get("name")
    for each in (jobset.get("spec") or {}).get("replicatedJobs") or ():
        yield from (f"{name}-{each['name']}-{index}" for index in range(each.get("replicas", 1)))
