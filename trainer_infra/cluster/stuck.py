"""Why a run will not go on unless somebody helps. Pure.

Called by `run_status`. An image that cannot be had, a container that cannot be made, a node that
does not answer: Kubernetes would wait for them for ever, or for minutes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from trainer_infra.cluster import pods as of_pods
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle import failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind

JSON = Mapping[str, Any]

KINDS: Final = (FailureKind.IMAGE_PULL, FailureKind.CANNOT_START)
"""Reasons for which a pod waits that do not pass by themselves."""


def stuck(pods: Iterable[JSON], nodes: Mapping[str, JSON]) -> str:
    """One sentence, or empty when the run goes on by itself.

    Args:
        pods: of the run.
        nodes: Kubernetes nodes by name, as far as they could be read.
    """
    pods = tuple(each for each in pods if not of_pods.is_over(each))
    for pod in pods:
        if sentence := _lost(pod, nodes.get(of_pods.node(pod))):
            return sentence
    found = (each for each in failure_reason.waiting(pods) if each.kind in KINDS)
    first = next(found, None)
    return first.sentence() if first else ""


def is_suspicious(pod: JSON) -> bool:
    """Whether its node may be lost: it has one, and is not ready there or is being deleted."""
    if not of_pods.node(pod) or of_pods.is_over(pod):
        return False
    status = pod.get("status") or {}
    ready = of.is_true(status.get("conditions") or (), "Ready")
    return not ready or "deletionTimestamp" in pod["metadata"]


def is_lost(pod: JSON, nodes: Mapping[str, JSON]) -> bool:
    """Whether its node is known not to answer, so that its log cannot be read."""
    return bool(_lost(pod, nodes.get(of_pods.node(pod))))


def _lost(pod: JSON, node: JSON | None) -> str:
    name, place = pod["metadata"]["name"], of_pods.node(pod)
    status = pod.get("status") or {}
    if node is None:
        # Who may not read nodes still sees what was done to the pod.
        if status.get("reason") == "NodeLost" or status.get("phase") == "Unknown":
            return f"pod {name} is on node {place}, which does not answer"
        return ""
    ready = of.find((node.get("status") or {}).get("conditions") or (), "Ready")
    if ready is None or ready["status"] == "True":
        return ""
    word = "is not ready" if ready["status"] == "False" else "does not answer"
    since = ready.get("lastTransitionTime", "")
    said = f": {ready['message']}" if ready.get("message") else ""
    return f"pod {name} is on node {place}, which {word} since {since}{said}"
