"""The containers that fetch a dataset or a model before training, and where they fetch from."""

from collections.abc import Iterator

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Subject, Value


def containers(subject: Subject) -> Iterator[PodContainer]:
    """The containers of initializers."""
    for each in pods.containers(subject):
        if each.pod.step in pods.INITIALIZERS and not each.is_init:
            yield each


def variables(container: PodContainer) -> Iterator[tuple[str, Value]]:
    """Name and literal value of its variables; those whose names are not known are noted."""
    for each in container.value["env"].items():
        if not each["name"].is_noted():
            yield each["name"].text(), each["value"]


def uri(container: PodContainer) -> Value | None:
    """Where its source is written; None where it is not."""
    found = [value for name, value in variables(container) if name == names.STORAGE_URI]
    return found[-1] if found else None


def scheme(uri: str) -> str:
    """The scheme of a URI; empty where it has none."""
    found, separator, _ = uri.partition("://")
    return found.lower() if separator else ""
