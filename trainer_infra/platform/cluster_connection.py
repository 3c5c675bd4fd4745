"""The cluster that a program deploys to, as the program itself can read it.

What a component declares may depend on what is there, for example on an installation to adopt. Which cluster
that is says the stack's configuration of Pulumi's Kubernetes provider, else KUBECONFIG.
"""

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import TypeVar

import pulumi

from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http, loop
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound, NotServed

T = TypeVar("T")


def read_cluster(
    ask: Callable[[KubeClient], Awaitable[T]],
    kubeconfig: str | None = None,
    context: str | None = None,
) -> T:
    """What a cluster answers.

    It is that of the kubeconfig, a path or a text, and its context; the stack's unless they are given.

    Raises:
        NotAvailable: There is no kubeconfig, or the cluster cannot be reached.
    """
    if kubeconfig is None:
        config = pulumi.Config("kubernetes")
        kubeconfig, context = config.get("kubeconfig"), context or config.get("context")

    async def answer() -> T:
        client = await http.connect_client(kubeconfig, context)
        try:
            return await ask(client)
        finally:
            await client.close()

    return loop.run_in_loop(answer())


async def objects_there(client: KubeClient, objects: Iterable[JSONObject]) -> list[JSONObject]:
    """Those of the objects of which the cluster has one of that kind and name."""
    there = []
    for each in objects:
        metadata = each["metadata"]
        with suppress(NotFound, NotServed):
            resource = await client.resource(each["apiVersion"], each["kind"])
            await client.get(resource, metadata["name"], metadata.get("namespace", ""))
            there.append(each)
    return there
