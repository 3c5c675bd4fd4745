"""Workers of MultiKueue: what they must hold before a job can go there, and by which kubeconfig Kueue goes.

MultiKueue copies a job and its Workload; it makes no namespace, queue, runtime or priority there. A job
whose worker lacks one waits without end, so a preview asks their API servers.

What is refused of a kubeconfig are the rules of `validateKubeconfig` and `validateRestConfig` in Kueue v0.19,
which says so only in a condition of the MultiKueueCluster. No value of a kubeconfig is in a problem.
"""

import asyncio
import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

import yaml
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
from trainer_infra.platform.argument_problems import NAME
from trainer_infra.platform.queues.queue_component import KUEUE

_FORBIDDEN: Final = {
    "tokenFile": "names a file of the token",
    "username": "signs in with a password",
    "password": "signs in with a password",
    "exec": "runs a program to sign in",
    "auth-provider": "has an auth provider",
}
_Parts: TypeAlias = Mapping[str, Mapping[str, Any]]
KINDS: Final[Mapping[str, Resource]] = {
    "namespaces": NAMESPACE,
    "local_queues": Resource(KUEUE, "LocalQueue", "localqueues"),
    "runtimes": CLUSTER_TRAINING_RUNTIME,
    "priority_classes": Resource(
        KUEUE, "WorkloadPriorityClass", "workloadpriorityclasses", namespaced=False
    ),
    "claim_templates": Resource(
        "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"
    ),
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
    """What is missing on each worker, of the kubeconfig's text or path by its name; all are asked at once."""
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


def kubeconfig_problems(text: str) -> Iterator[tuple[str, str]]:
    """What Kueue refuses of a kubeconfig's text, and what to do about each."""
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:
        config = None
    if not isinstance(config, Mapping):
        yield "is not the text of a kubeconfig", "read the file, and give what is in it"
        return
    try:
        users, clusters = _named(config, "user"), _named(config, "cluster")
    except (TypeError, KeyError, AttributeError):
        yield "is not a kubeconfig: users or clusters have another form", ""
        return
    yield from _refused_parts(users, clusters)


def _refused_parts(users: _Parts, clusters: _Parts) -> Iterator[tuple[str, str]]:
    for name, user in users.items():
        for what in dict.fromkeys(_FORBIDDEN[key] for key in _FORBIDDEN if user.get(key)):
            fix = "give the token of a service account"
            yield f"{what} (user {name}), which Kueue refuses", fix
    for name, cluster in clusters.items():
        for what, fix in _cluster_problems(cluster):
            yield f"{what} (cluster {name}), which Kueue refuses", fix


def _named(config: Mapping[str, Any], part: str) -> dict[str, Mapping[str, Any]]:
    return {str(each["name"]): each.get(part) or {} for each in config.get(f"{part}s") or ()}


def _cluster_problems(cluster: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    data = "write certificate-authority-data"
    if cluster.get("insecure-skip-tls-verify"):
        yield "trusts any server", data
    if cluster.get("certificate-authority"):
        yield "names a file of the authority", data
    if not cluster.get("server"):
        yield "has no server", ""
    elif not _is_host(str(cluster["server"])):
        yield "has a server that is not a host", "write https://HOST:PORT"


def _is_host(server: str) -> bool:
    try:
        host = (urlsplit(server).hostname or "").lower()
    except ValueError:
        return False
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(re.search(NAME["pattern"], host)) and len(host) <= NAME["maxLength"]
    return True
