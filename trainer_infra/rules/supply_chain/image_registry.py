"""image-registry: images come from registries that somebody answers for."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.pods import Container
from trainer_infra.rules.rule import Context, Parameters, Rule

_HUB: Final = "docker.io"


class ImageRegistry(Parameters):
    """What images may come from."""

    allow: tuple[str, ...] | None = None
    """Registries, or registries with the beginning of a path, `ghcr.io/kubeflow`; None for any."""


def _check(place: Container, context: Context[ImageRegistry]) -> Iterator[Finding]:
    image, allow = place.value["image"], context.parameters.allow
    if allow is None or not image.text():
        return
    whole = _whole(image.text())
    if not any(whole == each or whole.startswith(f"{each.rstrip('/')}/") for each in allow):
        fix = f"use one from {' or '.join(allow) or 'no registry: none is allowed'}"
        yield image.finding("comes from a registry that is not allowed", image.text(), fix)


def _whole(image: str) -> str:
    """The image with the registry that a short name stands for."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{_HUB}/{image}" if slash else f"{_HUB}/library/{image}"


RULE: Final = Rule(
    id="image-registry",
    title="Images come from allowed registries",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why="Whoever can publish an image anywhere else can run code with your data and your GPUs.",
    fix="Copy the image to a registry of `allow`, and name it there.",
    places=pods.containers,
    check=_check,
    parameters=ImageRegistry,
)
