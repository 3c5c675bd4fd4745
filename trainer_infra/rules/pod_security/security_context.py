"""The securityContext of a container, and that of its pod, which holds where it says nothing."""

from collections.abc import Iterator

from trainer_infra.rules import pods
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Subject, Value


def security_contexts(subject: Subject) -> Iterator[Value]:
    """Each one that the object writes: those of its pods, then those of their containers."""
    yield from (pod.spec["securityContext"] for pod in pods.pods_of(subject))
    yield from (each.value["securityContext"] for each in pods.containers(subject))


def own_value(container: PodContainer, *path: str) -> Value:
    """What the container itself says."""
    return container.value.at("securityContext", *path)


def of_pod(container: PodContainer, *path: str) -> Value:
    """What its pod says for all containers."""
    return container.pod.spec.at("securityContext", *path)


def effective_value(container: PodContainer, *path: str) -> Value:
    """What holds for the container; where it is set nowhere, the pod's place for it.

    Raises:
        UnseenValue: It is not known what the container says.
    """
    said = own_value(container, *path)
    return said if said.is_there() else of_pod(container, *path)
