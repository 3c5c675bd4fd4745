"""PersistentVolumeClaims of pods that have no node: missing, or not bound to a volume."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes.surroundings import events_about
from trainer_infra.runs.waiting_cause import Cause, Waiting

MISSING: Final = re.compile(r'persistentvolumeclaim "[^"]*" not found')
UNBOUND: Final = re.compile(r"unbound immediate PersistentVolumeClaims|persistent volumes to bind")


def waiting_claims(pods: Iterable[JSONObject], events: Sequence[JSONObject]) -> Iterator[Waiting]:
    """What pods without a node wait for, when it is a claim."""
    for pod in pods:
        said = _said(pod)
        name = pod["metadata"]["name"]
        if found := MISSING.search(said):
            yield Waiting(Cause.CLAIM_MISSING, f"pod {name} has no node: {found.group()}")
        elif UNBOUND.search(said):
            why = "".join(f"; {each}" for each in _of_claims(pod, events))
            yield Waiting(Cause.CLAIM_UNBOUND, f"a volume for pod {name}: {said}{why}")


def unbound_claims(pod: JSONObject) -> tuple[str, ...]:
    """Claims of a pod that may be why it has no node."""
    return claim_names(pod) if UNBOUND.search(_said(pod)) else ()


def claim_names(pod: JSONObject) -> tuple[str, ...]:
    """Names of the claims that a pod mounts."""
    volumes = (pod.get("spec") or {}).get("volumes") or ()
    claims = (each.get("persistentVolumeClaim") or {} for each in volumes)
    return tuple(each["claimName"] for each in claims if each.get("claimName"))


def _of_claims(pod: JSONObject, events: Sequence[JSONObject]) -> Iterator[str]:
    for name in claim_names(pod):
        told = list(events_about(events, "PersistentVolumeClaim", name))
        if told:
            yield f"claim {name}: {told[-1]['message']}"


def _said(pod: JSONObject) -> str:
    """What the scheduler says of a pod without a node."""
    if pod_facts.node_of(pod) or pod_facts.phase_of(pod) != "Pending":
        return ""
    found = conditions.find_condition(
        (pod.get("status") or {}).get("conditions") or (), "PodScheduled"
    )
    return str((found or {}).get("message") or "")
