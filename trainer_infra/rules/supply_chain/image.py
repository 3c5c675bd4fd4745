"""The images that an object's pods run or mount, and what their names say."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.rule import Subject, Value

_HUB: Final = "docker.io"
_DIGEST: Final = re.compile(r"@sha(?:256:[0-9a-f]{64}|512:[0-9a-f]{128})\Z")


def images(subject: Subject) -> Iterator[Value]:
    """The image of each container and of each image volume."""
    for container in pods.containers(subject):
        yield container.value["image"]
    for pod in pods.pods_of(subject):
        for volume in pod.spec["volumes"].items():
            yield volume.at("image", "reference")


def has_digest(image: str) -> bool:
    """Whether it is named by a digest, so that it is always the same one."""
    return _DIGEST.search(image) is not None


def tag(image: str) -> str:
    """Its tag; empty where it names none."""
    last = image.partition("@")[0].rpartition("/")[2]
    return last.partition(":")[2]


def name(image: str) -> str:
    """The last part of it alone: `train` of `ghcr.io/acme/train:1`."""
    return repository(image).rpartition("/")[2]


def repository(image: str) -> str:
    """It without tag and digest."""
    folder, slash, last = image.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{last.partition(':')[0]}"


def with_registry(repository: str) -> str:
    """A repository with the registry that a short name stands for."""
    first, slash, _ = repository.partition("/")
    is_registry = {".", ":"} & {*first} or first == "localhost" or first != first.lower()
    if slash and is_registry:
        return repository
    return f"{_HUB}/{repository}" if slash else f"{_HUB}/library/{repository}"
