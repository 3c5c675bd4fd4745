"""Objects as the cluster has them now: their addresses, whose they are, and names that are taken.

Before anything that exists is changed it is asked whose it is: what is not the run's is left alone (design
rule 2), whatever `adopt` says, for adopting is about runs, and what a run would take it would also delete.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeVar

from trainer_infra import names
from trainer_infra.errors import Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, SECRET, SERVICE, Resource
from trainer_infra.runs.run import RunKey

T = TypeVar("T")

_KNOWN: Final = {(each.api_version, each.kind): each for each in (CONFIG_MAP, SECRET, JOBSET)}
"""Kinds that every run has; those of a third party's plugin are asked of the server."""


async def resource_of(client: KubeClient, value: JSONObject) -> Resource:
    """The address of an object's kind.

    Raises:
        NotServed: The server does not know it.
    """
    known = _KNOWN.get((value["apiVersion"], value["kind"]))
    return known or await client.resource(value["apiVersion"], value["kind"])


async def served_kind(client: KubeClient, api_version: str, kind: str) -> Resource | None:
    """A kind as the cluster serves it; None where it does not."""
    with suppress(NotServed):
        return await client.resource(api_version, kind)
    return None


async def named_object(
    client: KubeClient, kind: Resource, name: str, namespace: str
) -> JSONObject | None:
    """The object as it is now; None when there is none of that name, or no such kind."""
    with suppress(NotFound, NotServed):
        return await client.get(kind, name, namespace)
    return None


async def live_object(
    client: KubeClient, value: JSONObject, namespace: str = ""
) -> JSONObject | None:
    """The object of a value's kind and name likewise, in the given namespace where it says none."""
    name, own = value["metadata"]["name"], value["metadata"].get("namespace")
    with suppress(NotServed):
        kind = await resource_of(client, value)
        return await named_object(client, kind, name, own or namespace)
    return None


async def objects_of_jobset(
    client: KubeClient, kind: Resource, key: RunKey
) -> tuple[JSONObject, ...]:
    """The pods, or the Jobs, of the JobSet of the run's name."""
    labels = f"{names.JOBSET_NAME_LABEL}={key.name}"
    return (await client.list(ObjectSelection(kind, key.namespace, labels))).items


def is_of(value: JSONObject, uid: str) -> bool:
    """Whether the object belongs to the run with that UID."""
    references = value["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == uid for each in references)


def is_going(value: JSONObject) -> bool:
    """Whether the object is being deleted."""
    return "deletionTimestamp" in value["metadata"]


def owner_shown(value: JSONObject) -> str:
    """Whose the object is: a run of ours, another controller's, or the first writer's."""
    metadata = value["metadata"]
    labels = metadata.get("labels") or {}
    controller = next(
        (each for each in metadata.get("ownerReferences") or () if each.get("controller")), None
    )
    if names.RUN_LABEL in labels and labels.get(names.STACK_LABEL):
        stack = f"of stack {labels[names.STACK_LABEL]} of project {labels[names.PROJECT_LABEL]}"
        return f"run {labels[names.RUN_LABEL]} {stack}"
    if names.RUN_LABEL in labels:
        return f"run {labels[names.RUN_LABEL]} of `trainer-infra run`"
    if controller is not None:
        return f"{controller['kind']} {controller['name']}"
    for each in metadata.get("managedFields") or ():
        if "manager" in each:
            return f"no owner that is known here; it was written by {each['manager']}"
    return "no known owner"


def object_shown(value: JSONObject) -> str:
    """An object as an error names it: `Secret team/digits-secret`, `ClusterTrainingRuntime torch`."""
    namespace = value["metadata"].get("namespace")
    return f"{value['kind']} {f'{namespace}/' if namespace else ''}{value['metadata']['name']}"


async def all_results(requests: Iterable[Awaitable[T]]) -> list[T]:
    """The results of several requests at once, in order.

    Raises:
        Exception: The first error by order, once every request has ended: what was begun must be known
            before the next step, for example to remove it again.
    """
    results = await asyncio.gather(*requests, return_exceptions=True)
    for each in results:
        if isinstance(each, BaseException):
            raise each
    return [each for each in results if not isinstance(each, BaseException)]


def service_name(jobset: JSONObject) -> str:
    """Name of the Service that JobSet makes for a JobSet; empty where it makes none.

    It is headless, and pods find one another by it (sigs.k8s.io/jobset, createHeadlessSvcIfNecessary). JobSet
    takes any Service of that name for it.
    """
    network = jobset["spec"].get("network")
    if not isinstance(network, Mapping):
        return str(jobset["metadata"]["name"])
    if network.get("enableDNSHostnames") is False:
        return ""
    return str(network.get("subdomain") or jobset["metadata"]["name"])


def name_taken(live: JSONObject) -> Refused:
    """Why an object that is not the run's ends its submit."""
    never = ", as a JobSet cannot change" if live["kind"] == names.JOBSET else ""
    return Refused(
        f"{object_shown(live)} exists and belongs to {owner_shown(live)}; choose another name, or delete "
        f"it: adopt=True takes over runs, never single objects{never}"
    )


async def service_taken(client: KubeClient, jobset: JSONObject) -> Refused | None:
    """Why a run cannot have its headless Service; None where it can, or that may not be read."""
    name, metadata = service_name(jobset), jobset["metadata"]
    if not name:
        return None
    try:
        live = await client.get(SERVICE, name, metadata["namespace"])
    except TrainerInfraError:
        # What else is asked at the same time has the better sentence.
        return None
    owners = live["metadata"].get("ownerReferences") or ()
    of_jobset = any(
        (each["kind"], each["name"]) == (names.JOBSET, metadata["name"]) for each in owners
    )
    if of_jobset or is_going(live):
        return None
    return Refused(
        f"{object_shown(live)} exists and belongs to {owner_shown(live)}, so JobSet cannot make the headless "
        "Service of that name, by which pods find one another; choose another name, delete it, or set "
        "spec.network.subdomain of the runtime's JobSet"
    )


async def require_free_names(client: KubeClient, wanted: Sequence[JSONObject], uid: str) -> None:
    """Raise where a run cannot have all its objects, of which the JobSet is the last.

    The UID is that of the run that has the name now, empty where there is none.

    Raises:
        Refused: An object is there that is neither that run's nor going.
    """
    namespace = wanted[-1]["metadata"]["namespace"]
    found = await all_results(live_object(client, each, namespace) for each in wanted)
    for live in found:
        if live and not is_going(live) and not is_of(live, uid):
            raise name_taken(live)
    if refused := await service_taken(client, wanted[-1]):
        raise refused
