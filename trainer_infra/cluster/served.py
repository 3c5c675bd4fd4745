"""What a cluster has of what engine `provider` needs.

Called by `deploy` at preview, which goes on without a cluster, and by `host`.
"""

from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.kube.resource import NAMESPACE

CLUSTER_NAMESPACE: Final = "kube-system"
"""The namespace whose UID tells clusters apart: it is made once, and never again."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a cluster serves."""

    reachable: bool
    """Whether it answered."""
    jobset: bool = False
    """Whether it serves JobSet, without which nothing runs."""
    train_jobs: bool = False
    """Whether it serves TrainJobs: then a controller may be there, and engine `controller` fits."""
    server: str = ""
    """URL of the server; empty when there is no kubeconfig to read it from."""
    host: str = ""
    """The cluster, as a Run has it."""
    problem: str = ""
    """Why it cannot be reached."""


def warnings(found: Served) -> tuple[str, ...]:
    """What is worth knowing of a cluster before anything is submitted to it."""
    if not found.reachable:
        return (f"the cluster does not answer, the preview goes on without it: {found.problem}",)
    said = []
    if not found.jobset:
        said.append(
            f"the cluster at {found.server} serves no JobSet, on which every run is built: install "
            "it first, see https://jobset.sigs.k8s.io/docs/installation"
        )
    if found.train_jobs:
        said.append(
            f"the cluster at {found.server} serves TrainJobs, so a controller may be there; engine "
            "provider does not use it: its runs are no TrainJobs in the cluster"
        )
    return tuple(said)


async def served(client: KubeClient, host: str) -> Served:
    """What a cluster that answers serves."""
    jobset = await _serves(client, names.JOBSET_API_VERSION, names.JOBSET)
    train_jobs = await _serves(client, names.API_VERSION, names.TRAIN_JOB)
    return Served(True, jobset, train_jobs, client.server, host)


async def host(client: KubeClient) -> str:
    """`cluster <uid>`; the server's URL where the namespace kube-system may not be read."""
    try:
        namespace = await client.get(NAMESPACE, CLUSTER_NAMESPACE)
    except Answer:
        return client.server
    return f"cluster {namespace['metadata']['uid']}"


async def _serves(client: KubeClient, api_version: str, kind: str) -> bool:
    try:
        await client.resource(api_version, kind)
    except NotServed:
        return False
    return True
