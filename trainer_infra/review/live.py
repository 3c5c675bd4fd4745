"""The objects of a cluster that policy is about, as if a user had written them.

What a server adds by itself is left out.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Forbidden, NotServed
from trainer_infra.render.plugins import kai
from trainer_infra.review import report
from trainer_infra.review.documents import Document

_KUEUE: Final = names.KUEUE_VERSIONS
_RBAC: Final = ("rbac.authorization.k8s.io/v1",)
_CORE: Final = ("v1",)

KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    names.TRAIN_JOB: (names.API_VERSION,),
    names.TRAINING_RUNTIME: (names.API_VERSION,),
    names.CLUSTER_TRAINING_RUNTIME: (names.API_VERSION,),
    names.JOBSET: (names.JOBSET_API_VERSION,),
    names.CLUSTER_QUEUE: _KUEUE,
    names.LOCAL_QUEUE: _KUEUE,
    names.COHORT: _KUEUE,
    names.RESOURCE_FLAVOR: _KUEUE,
    names.KUEUE_TOPOLOGY: _KUEUE,
    names.ADMISSION_CHECK: _KUEUE,
    **dict.fromkeys(names.CHECK_CONFIGS, _KUEUE),
    names.WORKLOAD_PRIORITY_CLASS: _KUEUE,
    names.RESOURCE_QUOTA: _CORE,
    "LimitRange": _CORE,
    names.NAMESPACE: _CORE,
    names.PRIORITY_CLASS: ("scheduling.k8s.io/v1",),
    "ServiceAccount": _CORE,
    "Role": _RBAC,
    "RoleBinding": _RBAC,
    "ClusterRole": _RBAC,
    "ClusterRoleBinding": _RBAC,
}
"""What is read: kinds, and their versions, the one that is wanted most first."""
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    names.POD_GROUP: (names.VOLCANO_API_VERSION, names.COSCHEDULING_API_VERSION),
    names.VOLCANO_QUEUE: (names.VOLCANO_API_VERSION, kai.API_VERSION),
}
"""Kinds of several groups: all of these are read."""
_OF_THE_SERVER: Final = frozenset(
    (
        *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation"),
        *("managedFields", "resourceVersion", "selfLink", "uid"),
    )
)
"""Fields of the metadata that a server writes."""


@dataclass(frozen=True, slots=True)
class Live:
    """What there is in a cluster."""

    objects: tuple[JSONObject, ...] = ()
    """By kind, then as the server lists them; without what a server adds."""
    problems: tuple[str, ...] = ()
    """Kinds that could not be read, a sentence each."""

    def documents(self) -> tuple[Document, ...]:
        """What is judged: what a user made, not what controllers made of it."""
        return tuple(
            Document(each, f"cluster: {_named(each)}", None, is_editable=False)
            for each in self.objects
            if not any(owner.get("controller") for owner in _owners(each))
        )


def read_live(kubeconfig: str | None, context: str | None, namespace: str = "") -> Live:
    """The objects of a cluster, of a namespace or (empty) of all.

    A kubeconfig is a path, several, or None for the usual places; without a context its current one is meant.

    Raises:
        NotAvailable: There is no kubeconfig, or no answer.
        Refused: The server does not know the user.
    """

    async def connected() -> Live:
        client = await http.connect_client(kubeconfig, context)
        try:
            return await objects(client, namespace)
        finally:
            await client.close()

    return loop.run_in_loop(connected())


async def objects(client: KubeClient, namespace: str = "") -> Live:
    """All of the kinds that the server serves, of a namespace or (empty) of all."""
    wanted = [*KINDS.items()]
    wanted += [(kind, (each,)) for kind, groups in GROUPS.items() for each in groups]
    found = await asyncio.gather(*(_listed(client, *each, namespace) for each in wanted))
    return Live(
        tuple(each for one in found for each in one.objects),
        tuple(each for one in found for each in one.problems),
    )


async def _listed(client: KubeClient, kind: str, versions: tuple[str, ...], namespace: str) -> Live:
    """The objects of a kind, of the first version that is served."""
    for version in versions:
        try:
            resource = await client.resource(version, kind)
            page = await client.list(ObjectSelection(resource, namespace))
        except NotServed:
            continue
        except Forbidden as error:
            return Live(problems=(f"cluster: {kind} objects cannot be read: {error.message}",))
        return Live(tuple(map(written_live, page.items)))
    return Live()


def written_live(value: JSONObject) -> JSONObject:
    """The object without what a server adds."""
    metadata = {key: each for key, each in value["metadata"].items() if key not in _OF_THE_SERVER}
    rest = {key: each for key, each in value.items() if key != "status"}
    return {**rest, "metadata": metadata}


def _owners(value: JSONObject) -> Iterator[JSONObject]:
    owners = value["metadata"].get("ownerReferences")
    yield from owners if isinstance(owners, list) else ()


def _named(value: JSONObject) -> str:
    metadata = value["metadata"]
    where = (metadata.get("namespace", ""), metadata.get("name", ""))
    return report.object_name(value["kind"], *where)
