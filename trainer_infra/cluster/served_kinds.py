"""What a cluster has of what an engine and the objects of a run need; and which cluster it is.

What tells clusters apart, whatever user asks and by whichever address, is kept as text in `Run.host`, and so
in states. The UID of namespace kube-system is made once and never again, but not every account may read it.
What every account that may submit can read is ConfigMap `kube-root-ca.crt` of its own namespace:
kube-controller-manager writes the cluster's authorities there (KEP-1205). The server's URL counts only where
neither is known.
"""

import asyncio
import base64
import binascii
import hashlib
import re
from collections.abc import Awaitable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import kueue_objects, live_objects
from trainer_infra.cluster.session import Session
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, Forbidden, NotFound, NotKubernetes
from trainer_infra.kube.resource import CONFIG_MAP, NAMESPACE
from trainer_infra.runs.causes import kueue_workload

CLUSTER_NAMESPACE: Final = "kube-system"
AUTHORITIES: Final = "kube-root-ca.crt"
"""The ConfigMap of every namespace that has the cluster's authorities, under the key `ca.crt`."""
_CLUSTER: Final = "cluster"
_AUTHORITY: Final = "authority"
_LENGTH: Final = 16
"""Hexadecimal digits of a fingerprint: 64 bits tell the clusters of one user apart."""
_CERTIFICATE: Final = re.compile(
    "-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL
)
_QUEUED: Final = frozenset((names.JOBSET, names.TRAIN_JOB))
"""What has a label by which Kueue queues it."""


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """What is known of a cluster; all empty is not a cluster."""

    uid: str = ""
    """UID of namespace kube-system; empty where it may not be read."""
    authorities: frozenset[str] = frozenset()
    """Fingerprints of its authorities' certificates; empty where they are not published."""
    server: str = ""
    """URL that it was asked by; empty in an identity that was kept with one of the others."""

    @override
    def __str__(self) -> str:
        parts = [self.uid] if self.uid else []
        if self.authorities:
            parts += [_AUTHORITY, ",".join(sorted(self.authorities))]
        return " ".join((_CLUSTER, *parts)) if parts else self.server

    def same(self, other: "ClusterIdentity") -> bool | None:
        """Whether both are one cluster; None where nothing of them can be compared."""
        if self.uid and other.uid:
            return self.uid == other.uid
        if self.authorities and other.authorities:
            # One of several is enough: authorities are renewed one after the other.
            return not self.authorities.isdisjoint(other.authorities)
        if self.server and other.server:
            return self.server == other.server
        return None


@dataclass(frozen=True, slots=True)
class ServedKinds:
    """What a cluster serves."""

    reachable: bool
    """Whether it said what it serves."""
    jobset: bool = False
    """Whether it serves JobSet, without which nothing runs."""
    train_jobs: bool = False
    """Whether it serves TrainJobs: then a controller may be there, and engine `controller` fits."""
    kueue: bool = False
    """Whether it serves Kueue's Workloads, by which JobSets are queued."""
    controller: str = ""
    """Which controller drives TrainJobs there, `builtin` or `upstream`; empty where that is not known."""
    server: str = ""
    """URL of the server; empty when there is no kubeconfig to read it from."""
    host: str = ""
    """The cluster, as a Run has it."""
    problem: str = ""
    """Why nothing is known of it: that it does not answer, or will not, and why."""


def served_warnings(
    found: ServedKinds,
    objects: Collection[JSONObject] = (),
    missing: Collection[kueue_objects.Queue] = (),
) -> tuple[str, ...]:
    """What is worth knowing of a cluster before objects are submitted to it.

    Those of their queues that are known not to be there are `missing`.
    """
    if not found.reachable:
        return (found.problem,)
    said = []
    if not found.jobset:
        said.append(
            f"the cluster at {found.server} serves no JobSet, on which every run is built: install "
            "it first, see https://jobset.sigs.k8s.io/docs/installation"
        )
    return (*said, *_of_queues(found, objects, missing))


def of_engine_provider(found: ServedKinds) -> str:
    """A remark where TrainJobs are served, and engine `provider` is chosen; else empty."""
    if not found.train_jobs:
        return ""
    return (
        f"the cluster at {found.server} serves TrainJobs, so a controller may be there; engine "
        "provider does not use it: its runs are not TrainJobs in the cluster"
    )


def of_engine_controller(found: ServedKinds) -> str:
    """A remark where no TrainJobs are served, and engine `controller` is chosen; else empty."""
    if not found.reachable or found.train_jobs:
        return ""
    return _without_train_jobs(found.server)


async def require_train_jobs(client: KubeClient) -> None:
    """Raise where engine `controller` is chosen and the cluster serves no TrainJobs.

    Raises:
        NotAvailable: It serves none.
    """
    if not await live_objects.served_kind(client, names.API_VERSION, names.TRAIN_JOB):
        raise NotAvailable(_without_train_jobs(client.server))


def _without_train_jobs(server: str) -> str:
    return (
        f"the cluster at {server} serves no TrainJobs, which engine controller needs: install "
        "Kubeflow Trainer (docs/platform.md, TrainerControlPlane), or run "
        "`pulumi config set trainer:engine provider`"
    )


def queues_of(objects: Collection[JSONObject]) -> Mapping[kueue_objects.Queue, bool]:
    """Each queue that a JobSet or a stored TrainJob names, by namespace and name: whether one is to be born suspended."""
    found: dict[kueue_objects.Queue, bool] = {}
    for each in objects:
        if each["kind"] in _QUEUED and (name := kueue_workload.queue_of(each)):
            key = (str(each["metadata"].get("namespace", "")), name)
            found[key] = found.get(key, False) or bool(each["spec"].get("suspend"))
    return found


def _of_queues(
    found: ServedKinds, objects: Collection[JSONObject], missing: Collection[kueue_objects.Queue]
) -> Iterator[str]:
    for (namespace, name), suspended in sorted(queues_of(objects).items()):
        label = f"label {names.KUEUE_QUEUE_LABEL}"
        if not found.kueue:
            then = (
                "stay suspended until you resume them" if suspended else "start at once, unqueued"
            )
            yield (
                f"{label}: the cluster at {found.server} has no Kueue, so that runs in its queues "
                f"{then}, got {name!r}; install Kueue, or remove the label"
            )
            continue
        if (namespace, name) in missing:
            yield (
                f"{label}: there is no LocalQueue of that name in namespace {namespace}, so that "
                f"Kueue admits no run, got {name!r}; create the LocalQueue, or name another one"
            )
        if suspended:
            yield (
                f"suspend: has no effect in queue {name}, got True: Kueue resumes a run when it "
                "admits it; to hold one back, set spec.active of its Workload to false"
            )


def not_asked(error: Answer | NotAvailable) -> ServedKinds:
    """What is known of a cluster that cannot be asked, or will not answer this user."""
    silent = not isinstance(error, NotKubernetes | Answer)
    what = "does not answer" if silent else "cannot be asked"
    problem = f"the cluster {what}, the preview goes on without it: {error}"
    return ServedKinds(reachable=False, problem=problem)


async def what_is_served(client: KubeClient, host: str) -> ServedKinds:
    """What a cluster that answers serves."""
    jobset = await live_objects.served_kind(client, names.JOBSET_API_VERSION, names.JOBSET)
    train_job = await live_objects.served_kind(client, names.API_VERSION, names.TRAIN_JOB)
    return ServedKinds(
        reachable=True,
        jobset=jobset is not None,
        train_jobs=train_job is not None,
        kueue=await kueue_objects.is_served(client),
        controller=await _controller(client) if train_job else "",
        server=client.server,
        host=host,
    )


async def _controller(client: KubeClient) -> str:
    """Which controller a cluster has that serves TrainJobs; ours says so."""
    asked = client.get(CONFIG_MAP, names.PUBLIC_CONFIG_MAP, names.SYSTEM_NAMESPACE)
    data = (await _read(asked) or {}).get("data") or {}
    return names.BUILTIN if data.get(names.CONTROLLER_KEY) == names.BUILTIN else names.UPSTREAM


async def identify_cluster(client: KubeClient) -> ClusterIdentity:
    """What every account may know of the cluster, and who may read kube-system.

    Raises:
        Unauthorized: The cluster does not know the user.
        NotAvailable: It does not answer.
    """
    namespace, known = await asyncio.gather(
        _read(client.get(NAMESPACE, CLUSTER_NAMESPACE)), authorities_of(client, CLUSTER_NAMESPACE)
    )
    uid = str(namespace["metadata"]["uid"]) if namespace else ""
    return ClusterIdentity(uid, known, client.server)


async def authorities_of(client: KubeClient, namespace: str) -> frozenset[str]:
    """Fingerprints of the cluster's authorities; none where the namespace does not show them.

    Raises:
        Unauthorized: The cluster does not know the user.
        NotAvailable: It does not answer.
    """
    found = await _read(client.get(CONFIG_MAP, AUTHORITIES, namespace))
    data = (found or {}).get("data") or {}
    return fingerprints(str(data.get("ca.crt") or ""))


async def _read(asked: Awaitable[JSONObject]) -> JSONObject | None:
    """An object; None where it is not there or may not be read, which is not an other cluster."""
    try:
        return await asked
    except (Forbidden, NotFound):
        return None


async def complete_identity(session: Session, namespace: str) -> None:
    """Complete what is known of the cluster by what a namespace of the user's shows."""
    known = identity_from_text(session.host)
    if known.authorities or not namespace:
        return
    found = await session.cache.answer(
        (AUTHORITIES, namespace), lambda: authorities_of(session.client, namespace)
    )
    if found:
        session.host = str(replace(known, authorities=found))


def identity_from_text(text: str) -> ClusterIdentity:
    """The identity that its text says; `cluster <uid>` and a URL are in earlier states."""
    head, *words = text.split()
    if head != _CLUSTER or not words:
        return ClusterIdentity(server=text)
    uid = "" if words[0] == _AUTHORITY else words[0]
    authorities = words[-1].split(",") if _AUTHORITY in words[:-1] else ()
    return ClusterIdentity(uid, frozenset(authorities))


def fingerprints(bundle: str) -> frozenset[str]:
    """Shortened SHA-256 of each certificate in a text of PEM blocks; what is none is left out."""
    found = set()
    for block in _CERTIFICATE.findall(bundle):
        with suppress(binascii.Error):
            content = base64.b64decode("".join(block.split()), validate=True)
            found.add(hashlib.sha256(content).hexdigest()[:_LENGTH])
    return frozenset(found)
