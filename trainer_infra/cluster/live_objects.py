"""Objects of a run as the cluster has them now: their addresses, and the objects themselves.

Addresses of the kinds that every run has are known here; those of a third party's plugin are asked
of the server.
"""

from collections.abc import Mapping
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.kube import resource
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.kube.resource import Resource

_KNOWN: Final[Mapping[tuple[str, str], Resource]] = {
    (each.api_version, each.kind): each
    for each in (resource.CONFIG_MAP, resource.SECRET, resource.JOBSET)
}


async def resource_of(client: KubeClient, value: JSONObject) -> Resource:
    """The address of an object's kind.

    Raises:
        NotServed: The server does not know it.
    """
    known = _KNOWN.get((value["apiVersion"], value["kind"]))
    return known or await client.resource(value["apiVersion"], value["kind"])


async def live_object(
    client: KubeClient, value: JSONObject, namespace: str = ""
) -> JSONObject | None:
    """The object of that kind and name as it is now; None when there is none, or no such kind.

    Args:
        client: the cluster.
        value: anything with kind and name.
        namespace: where it is, if the value does not say so.
    """
    metadata = value["metadata"]
    try:
        kind = await resource_of(client, value)
        return await client.get(kind, metadata["name"], metadata.get("namespace") or namespace)
    except (NotFound, NotServed):
        return None
