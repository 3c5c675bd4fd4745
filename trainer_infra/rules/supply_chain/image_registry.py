"""image-registry: images come from registries that the platform team answers for."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.supply_chain import image
from trainer_infra.rules.value import Value

_HUB: Final = "docker.io"


class ImageRegistry(Parameters):
    """What images may come from."""

    allow: tuple[str, ...] | None = None
    """Registries, or registries with the beginning of a path, `ghcr.io/kubeflow`; None for any."""


def _check(place: Value, context: Context[ImageRegistry]) -> Iterator[Finding]:
    allow = context.parameters.allow
    if allow is None or not place.text():
        return
    whole = _whole(image.repository(place.text()))
    if not any(whole == each or whole.startswith(f"{each.rstrip('/')}/") for each in allow):
        fix = f"use one from {' or '.join(allow) or 'no registry: none is allowed'}"
        yield place.finding("comes from a registry that is not allowed", place.text(), fix)


def _whole(name: str) -> str:
    """The image with the registry that a short name stands for."""
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"{_HUB}/{name}" if slash else f"{_HUB}/library/{name}"


RULE: Final = Rule(
    id="image-registry",
    title="Images come from allowed registries",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why="Anyone who can publish an image elsewhere can run code with your data and your GPUs.",
    fix="Copy the image to a registry of `allow`, and name it there.",
    places=image.images,
    check=_check,
    parameters=ImageRegistry,
)
