"""image-registry: images come from registries that the platform team answers for."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.supply_chain import image


class ImageRegistry(Parameters):
    """What images may come from."""

    allow: tuple[str, ...] | None = None
    """Registries, or registries with the beginning of a path, `ghcr.io/kubeflow`; None for any."""


def _check(place: Value, context: Context[ImageRegistry]) -> Iterator[Finding]:
    allow = context.parameters.allow
    if allow is None or not place.text():
        return
    whole = image.with_registry(image.repository(place.text()))
    if not any(whole == each or whole.startswith(f"{each.rstrip('/')}/") for each in allow):
        fix = f"use one from {' or '.join(allow) or 'no registry: none is allowed'}"
        yield place.finding("comes from a registry that is not allowed", place.text(), fix)


RULE: Final = Rule(
    id="image-registry",
    title="Images come from allowed registries",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("supply-chain", "images"),
    frameworks=("nist-800-190/4.1.5",),
    why="Anyone who can publish an image elsewhere can run code with your data and your GPUs.",
    fix="Copy the image to a registry of `allow`, and name it there.",
    places=image.images,
    check=_check,
    parameters=ImageRegistry,
)
