"""Whether an object is ready, and what it waits for: what `up` reports done must work.

Sources: the status fields of apps/v1, apiextensions.k8s.io/v1 and core/v1 in the Kubernetes API
reference; the annotation `pulumi.com/waitFor` in Pulumi's documentation of the Kubernetes provider.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import jsonpath

from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import Resource

SKIP: Final = "pulumi.com/skipAwait"
WAIT_FOR: Final = "pulumi.com/waitFor"
TIMEOUT: Final = "pulumi.com/timeoutSeconds"
_SLICES: Final = Resource("discovery.k8s.io/v1", "EndpointSlice", "endpointslices")

Object = Mapping[str, Any]


class HasFailed(Exception):
    """The object has ended without success; the message says how."""


async def missing(client: KubeClient, value: Object) -> str:
    """What an object waits for, as a phrase; empty when it is ready.

    Raises:
        HasFailed: It never will be.
        ValueError: Its annotation cannot be read.
    """
    annotations = value["metadata"].get("annotations") or {}
    if annotations.get(SKIP) == "true":
        return ""
    if WAIT_FOR in annotations:
        return wait_for(value, annotations[WAIT_FOR])
    group = value["apiVersion"].rpartition("/")[0]
    judge = _JUDGES.get((group, value["kind"]))
    return await judge(client, value) if judge else ""


def wait_for(value: Object, expression: str) -> str:
    """What an annotation `pulumi.com/waitFor` is still waiting for.

    Args:
        value: the object.
        expression: `condition=Type[=Status]`, `jsonpath={.path}[=value]`, or a JSON list of these.

    Raises:
        ValueError: It is neither.
    """
    listed = json.loads(expression) if expression.startswith("[") else [expression]
    return ", ".join(each for each in listed if not _holds(value, each))


def _holds(value: Object, expression: str) -> bool:
    word, _, rest = expression.partition("=")
    if word == "condition" and rest:
        name, _, status = rest.partition("=")
        return _condition(value, name) == (status or "True")
    if word == "jsonpath" and rest.startswith("{") and "}" in rest:
        path, _, wanted = rest[1:].partition("}")
        found = jsonpath.findall(f"${path.removeprefix('$')}", dict(value))
        return any(not wanted or str(each) == wanted.removeprefix("=") for each in found)
    raise ValueError(
        f"metadata.annotations: {WAIT_FOR}: must be `condition=Type`, `jsonpath={{.path}}` or a JSON "
        f"list of these, got {expression!r}"
    )


def _condition(value: Object, name: str) -> str:
    conditions = (value.get("status") or {}).get("conditions") or ()
    return next((each["status"] for each in conditions if each["type"] == name), "")


def _is_seen(value: Object) -> bool:
    status = value.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= value["metadata"].get("generation", 0))


async def _deployment(_client: KubeClient, value: Object) -> str:
    wanted = value["spec"].get("replicas", 1)
    status = value.get("status") or {}
    ready = min(status.get("updatedReplicas", 0), status.get("availableReplicas", 0))
    if _is_seen(value) and ready >= wanted and status.get("replicas", 0) <= wanted:
        return ""
    return f"{wanted} available pods of this version ({ready} now)"


async def _stateful_set(_client: KubeClient, value: Object) -> str:
    wanted = value["spec"].get("replicas", 1)
    status = value.get("status") or {}
    ready = min(status.get("updatedReplicas", 0), status.get("readyReplicas", 0))
    return "" if _is_seen(value) and ready >= wanted else f"{wanted} ready pods ({ready} now)"


async def _daemon_set(_client: KubeClient, value: Object) -> str:
    status = value.get("status") or {}
    wanted = status.get("desiredNumberScheduled", 0)
    ready = min(status.get("updatedNumberScheduled", 0), status.get("numberAvailable", 0))
    return (
        "" if _is_seen(value) and ready >= wanted else f"its pods on {wanted} nodes ({ready} now)"
    )


async def _definition(_client: KubeClient, value: Object) -> str:
    return "" if _condition(value, "Established") == "True" else "the API server to serve its kind"


async def _service(client: KubeClient, value: Object) -> str:
    spec = value["spec"]
    if not spec.get("selector") or spec.get("clusterIP") == "None":
        return ""
    metadata = value["metadata"]
    return await _endpoints(client, metadata["namespace"], metadata["name"])


async def _webhooks(client: KubeClient, value: Object) -> str:
    """Webhooks whose Service exists wait for its endpoints; that of a later resource does not."""
    found = (each["clientConfig"].get("service") for each in value.get("webhooks") or ())
    services = dict.fromkeys((each["namespace"], each["name"]) for each in found if each)
    said = [await _endpoints(client, *each) for each in services]
    return ", ".join(filter(None, said))


async def _endpoints(client: KubeClient, namespace: str, name: str) -> str:
    labels = f"kubernetes.io/service-name={name}"
    slices = (await client.list(ObjectSelection(_SLICES, namespace, labels))).items
    ready = (
        (each.get("conditions") or {}).get("ready") is not False
        for one in slices
        for each in one.get("endpoints") or ()
    )
    return "" if any(ready) else f"a ready endpoint of Service {namespace}/{name}"


async def _job(_client: KubeClient, value: Object) -> str:
    if _condition(value, "Failed") == "True":
        raise HasFailed(f"Job {value['metadata']['name']} has failed")
    return "" if _condition(value, "Complete") == "True" else "its pods to succeed"


_JUDGES: Final[Mapping[tuple[str, str], Callable[[KubeClient, Object], Awaitable[str]]]] = {
    ("", "Service"): _service,
    ("apps", "Deployment"): _deployment,
    ("apps", "StatefulSet"): _stateful_set,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): _definition,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _webhooks,
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _webhooks,
}
