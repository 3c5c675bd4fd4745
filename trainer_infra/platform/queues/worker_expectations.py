"""What MultiKueue's workers must hold before a job can go there, asked of their API servers.

MultiKueue copies a job and its Workload; it makes no namespace, queue, runtime or priority there. A job
whose worker lacks one waits without end, so a preview asks.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.kube.request_retry import Patience
from trainer_infra.kube.resource import (
    CLUSTER_TRAINING_RUNTIME,
    NAMESPACE,
    TRAINING_RUNTIME,
    Resource,
)
from trainer_infra.platform.queues.queue_component import KUEUE

_LOCAL_QUEUE: Final = Resource(KUEUE, "LocalQueue", "localqueues")
_PRIORITY: Final = Resource(
    KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
)
_CLAIM_TEMPLATE: Final = Resource(
    "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"
)
KINDS: Final[Mapping[str, Resource]] = {
    "namespaces": NAMESPACE,
    "local_queues": _LOCAL_QUEUE,
    "runtimes": CLUSTER_TRAINING_RUNTIME,
    "priority_classes": _PRIORITY,
    "claim_templates": _CLAIM_TEMPLATE,
}
"""The kind of each expectation; a runtime with a namespace is a TrainingRuntime."""
_PATIENCE: Final = Patience(first_contact=5.0, give_up_after=15.0)
"""A preview waits no longer for a worker that does not answer."""


@dataclass(frozen=True, slots=True)
class ExpectedObject:
    """An object that every worker must have."""

    resource: Resource
    name: str
    namespace: str = ""

    @override
    def __str__(self) -> str:
        """`LocalQueue vision/team`."""
        return f"{self.resource.kind} {'/'.join(filter(None, (self.namespace, self.name)))}"


@dataclass(frozen=True, slots=True)
class WorkerAnswer:
    """What is known of a worker."""

    missing: Sequence[str] = ()
    """Sentences, one for each object that is not there."""
    unknown: str = ""
    """Why it cannot be asked."""


def expected_objects(expects: Mapping[str, Sequence[str]]) -> Iterator[ExpectedObject]:
    """What a program expects, in the order of `KINDS`."""
    for key, resource in KINDS.items():
        for each in expects.get(key, ()):
            namespace, _, name = each.rpartition("/")
            kind = TRAINING_RUNTIME if namespace and key == "runtimes" else resource
            yield ExpectedObject(kind, name, namespace)


async def ask_workers(
    kubeconfigs: Mapping[str, str], expected: Sequence[ExpectedObject]
) -> Mapping[str, WorkerAnswer]:
    """What is missing on each worker; all are asked at once.

    Args:
        kubeconfigs: text or path by the worker's name.
        expected: what each must have.
    """
    answers = await asyncio.gather(
        *(_ask_worker(name, each, expected) for name, each in kubeconfigs.items())
    )
    return dict(zip(kubeconfigs, answers, strict=True))


async def _ask_worker(
    name: str, kubeconfig: str, expected: Sequence[ExpectedObject]
) -> WorkerAnswer:
    try:
        client = await http.connect_client(kubeconfig, patience=_PATIENCE)
    except NotAvailable as error:
        return WorkerAnswer(unknown=str(error))
    try:
        found = [await _sentence(client, name, each) for each in expected]
    except (NotAvailable, Refused) as error:
        return WorkerAnswer(unknown=str(error))
    finally:
        await client.close()
    return WorkerAnswer(tuple(dict.fromkeys(filter(None, found))))


async def _sentence(client: KubeClient, worker: str, wanted: ExpectedObject) -> str:
    """What to say of an object that is not there; empty where it is."""
    try:
        # Discovery first: without it, a kind that is not served looks like an object that is missing.
        served = await client.resource(wanted.resource.api_version, wanted.resource.kind)
        await client.get(served, wanted.name, wanted.namespace)
    except NotServed:
        kind, version = wanted.resource.kind, wanted.resource.api_version
        return f"worker {worker} does not serve {kind} of {version}; install it there first"
    except NotFound:
        return f"worker {worker} has no {wanted}; make it there first, MultiKueue does not"
    return ""
