"""Kubernetes nodes that do not answer: their pods cannot be seen, and are not ended."""

from collections.abc import Iterable, Iterator, Mapping

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.waiting_cause import Cause, Waiting


def lost_pods(pods: Iterable[JSONObject], nodes: Mapping[str, JSONObject]) -> Iterator[Waiting]:
    """Pods that have not ended and whose node is known not to answer."""
    for pod in pods:
        if not pod_facts.is_over(pod) and (
            sentence := _lost(pod, nodes.get(pod_facts.node_of(pod)))
        ):
            yield Waiting(Cause.NODE_LOST, sentence)


def is_suspicious(pod: JSONObject) -> bool:
    """Whether its node may be lost: it has one, and is not ready there or is being deleted."""
    if not pod_facts.node_of(pod) or pod_facts.is_over(pod):
        return False
    status = pod.get("status") or {}
    ready = conditions.is_true(status.get("conditions") or (), "Ready")
    return not ready or "deletionTimestamp" in pod["metadata"]


def is_lost(pod: JSONObject, nodes: Mapping[str, JSONObject]) -> bool:
    """Whether its node is known not to answer, so that its log cannot be read."""
    return bool(_lost(pod, nodes.get(pod_facts.node_of(pod))))


def _lost(pod: JSONObject, node: JSONObject | None) -> str:
    name, place = pod["metadata"]["name"], pod_facts.node_of(pod)
    status = pod.get("status") or {}
    if node is None:
        # Who may not read nodes still sees what was done to the pod.
        if status.get("reason") == "NodeLost" or status.get("phase") == "Unknown":
            return f"pod {name} is on node {place}, which does not answer"
        return ""
    ready = conditions.find_condition((node.get("status") or {}).get("conditions") or (), "Ready")
    if ready is None or ready["status"] == "True":
        return ""
    word = "is not ready" if ready["status"] == "False" else "does not answer"
    since = ready.get("lastTransitionTime", "")
    said = f": {ready['message']}" if ready.get("message") else ""
    return f"pod {name} is on node {place}, which {word} since {since}{said}"
